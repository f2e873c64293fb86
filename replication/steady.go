package replication

import (
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// steadyTransport is raft's way to other nodes, and keeps from it what raft v1.7.3
// does wrong:
//
//   - It handles heartbeats beside its main goroutine, and may then take part in two
//     terms at once. Here they are requests as any other.
//   - It takes every snapshot from the leader of its term, also one that the network
//     has held up and that lacks what has been acknowledged since: it drops its log for
//     that, and then panics for want of it, or has lost it. Here such a snapshot is
//     answered as taken.
//   - What it still has for a node that was removed it sends to that node's address,
//     where by now there may be one with another id. Here it is not sent.
//   - It bounds how many entries it sends at once, and not their bytes: 64 transactions
//     of 16 MB take their receiver gigabytes, never arrive in time, and are all sent again.
//     Here what is beyond maxAppendBytes goes with the next.
//
// Source of the first: hashicorp/raft, issue 695.
type steadyTransport struct {
	*raft.NetworkTransport
	address  raft.ServerAddress          // at which others reach this node
	nodeAt   func(address string) string // the id there, empty if that is not known
	requests chan raft.RPC
}

func newSteadyTransport(t *raft.NetworkTransport, address string, nodeAt func(string) string) *steadyTransport {
	return &steadyTransport{t, raft.ServerAddress(address), nodeAt, make(chan raft.RPC)}
}

// LocalAddr is the address at which others reach this node.
func (t *steadyTransport) LocalAddr() raft.ServerAddress { return t.address }

// SetHeartbeatHandler does nothing.
func (t *steadyTransport) SetHeartbeatHandler(func(raft.RPC)) {}

// Consumer is where raft takes requests from.
func (t *steadyTransport) Consumer() <-chan raft.RPC { return t.requests }

// pass hands requests to raft until gone is closed, one when the one before is
// answered: so applied, up to where raft has handed the log to the machine, does not
// change under it.
func (t *steadyTransport) pass(applied func() uint64, gone <-chan struct{}) {
	answers := make(chan raft.RPCResponse, 1)
	for {
		var rpc raft.RPC
		select {
		case rpc = <-t.NetworkTransport.Consumer():
		case <-gone:
			return
		}
		if snapshot, ok := rpc.Command.(*raft.InstallSnapshotRequest); ok && snapshot.LastLogIndex <= applied() {
			go skip(rpc, snapshot)
			continue
		}
		asked := rpc
		asked.RespChan = answers
		select {
		case t.requests <- asked:
		case <-gone:
			return
		}
		select {
		case answer := <-answers:
			rpc.RespChan <- answer
		case <-gone:
			return
		}
	}
}

// skip answers that a snapshot was taken, when it has arrived. Its leader goes on
// with what follows, of which this node then tells what it has.
func skip(rpc raft.RPC, snapshot *raft.InstallSnapshotRequest) {
	_, err := io.Copy(io.Discard, rpc.Reader)
	rpc.Respond(&raft.InstallSnapshotResponse{RPCHeader: snapshot.RPCHeader, Term: snapshot.Term, Success: err == nil}, err)
}

func (t *steadyTransport) check(id raft.ServerID, target raft.ServerAddress) error {
	if node := t.nodeAt(string(target)); node != "" && node != string(id) {
		return fmt.Errorf("at %s is node %s now, not %s", target, node, id)
	}
	return nil
}

func (t *steadyTransport) AppendEntries(id raft.ServerID, target raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse) error {
	if err := t.check(id, target); err != nil {
		return err
	}
	request.Entries = upTo(request.Entries, maxAppendBytes) // from which raft sees what was sent
	return t.NetworkTransport.AppendEntries(id, target, request, response)
}

// upTo are the first of entries, at least one, with about so many bytes at most.
func upTo(entries []*raft.Log, most int) []*raft.Log {
	for i, e := range entries {
		if most -= entryCost(e); most < 0 && i > 0 {
			return entries[:i]
		}
	}
	return entries
}

func (t *steadyTransport) InstallSnapshot(id raft.ServerID, target raft.ServerAddress, request *raft.InstallSnapshotRequest, response *raft.InstallSnapshotResponse, data io.Reader) error {
	if err := t.check(id, target); err != nil {
		return err
	}
	return t.NetworkTransport.InstallSnapshot(id, target, request, response, data)
}
