package raftfix

import (
	"context"
	"errors"
	"net"

	"github.com/hashicorp/raft"
)

// RequestVote asks a node for its vote. See askForVote.
func (t *Transport) RequestVote(id raft.ServerID, target raft.ServerAddress, request *raft.RequestVoteRequest,
	response *raft.RequestVoteResponse) error {
	request = t.telling(request)
	return askForVote(func() error { return t.NetworkTransport.RequestVote(id, target, request, response) })
}

// RequestPreVote asks a node whether it would vote for this node. See askForVote.
func (t *Transport) RequestPreVote(id raft.ServerID, target raft.ServerAddress, request *raft.RequestPreVoteRequest,
	response *raft.RequestPreVoteResponse) error {
	return askForVote(func() error { return t.NetworkTransport.RequestPreVote(id, target, request, response) })
}

// askForVote repeats a request over another link if a link failed, until a new link was
// used: pooled links may be older than the other node's last start. A node gives the same
// answer to the same request. Timeouts are not retried.
func askForVote(ask func() error) error {
	var err error
	for range maxPool + 1 {
		var timeout net.Error
		if err = ask(); err == nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) &&
			timeout.Timeout() {
			return err
		}
	}
	return err
}
