package replication

import (
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// steadyTransport is raft's, with what is wrong with it cured.
//
// It takes heartbeats as any other request, in raft's main goroutine. Raft v1.7.3
// handles them beside it, and may then take part in two terms at once.
//
// Source: hashicorp/raft, issue 695.
//
// It has no entries sent to a node that does not answer, until that answers
// heartbeats. Raft v1.7.3 waits longer after each failure, up to 10 s. A node that is back
// would take no part for as long as it was away, and when another one fails there
// would be no majority.
//
// It has the address that others know.
type steadyTransport struct {
	*raft.NetworkTransport
	address raft.ServerAddress
	raft    atomic.Pointer[raft.Raft] // nil: not made yet

	mu   sync.Mutex
	lost map[raft.ServerID]chan struct{} // who did not take entries; closed when they answer a heartbeat
}

func newSteadyTransport(t *raft.NetworkTransport, address raft.ServerAddress) *steadyTransport {
	return &steadyTransport{NetworkTransport: t, address: address, lost: make(map[raft.ServerID]chan struct{})}
}

// LocalAddr is the address at which others reach this node.
func (t *steadyTransport) LocalAddr() raft.ServerAddress { return t.address }

// SetHeartbeatHandler does nothing.
func (*steadyTransport) SetHeartbeatHandler(func(raft.RPC)) {}

func (t *steadyTransport) AppendEntries(
	id raft.ServerID, to raft.ServerAddress, request *raft.AppendEntriesRequest, response *raft.AppendEntriesResponse,
) error {
	if isHeartbeat(request) {
		err := t.NetworkTransport.AppendEntries(id, to, request, response)
		if err == nil {
			t.found(id)
		}
		return err
	}
	t.await(id, to, request.Term)
	err := t.NetworkTransport.AppendEntries(id, to, request, response)
	t.sent(id, err)
	return err
}

func (t *steadyTransport) InstallSnapshot(
	id raft.ServerID, to raft.ServerAddress, request *raft.InstallSnapshotRequest, response *raft.InstallSnapshotResponse, data io.Reader,
) error {
	t.await(id, to, request.Term)
	err := t.NetworkTransport.InstallSnapshot(id, to, request, response, data)
	t.sent(id, err)
	return err
}

// isHeartbeat says whether a request only tells who leads: raft v1.7.3 knows them by the same.
func isHeartbeat(r *raft.AppendEntriesRequest) bool {
	return r.PrevLogEntry == 0 && r.PrevLogTerm == 0 && len(r.Entries) == 0 && r.LeaderCommitIndex == 0
}

// sent takes note of whether a node took what is not a heartbeat.
func (t *steadyTransport) sent(id raft.ServerID, err error) {
	if err == nil {
		t.found(id)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost[id] == nil {
		t.lost[id] = make(chan struct{})
	}
}

// found takes note of a node that answers.
func (t *steadyTransport) found(id raft.ServerID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if back := t.lost[id]; back != nil {
		close(back)
		delete(t.lost, id)
	}
}

// awaitAgain is how often it is asked whether a node that does not answer is still to
// be waited for.
const awaitAgain = 50 * time.Millisecond

// await waits until a node that was lost answers, or this one does not lead it any
// more.
func (t *steadyTransport) await(id raft.ServerID, to raft.ServerAddress, term uint64) {
	t.mu.Lock()
	back := t.lost[id]
	t.mu.Unlock()
	if back == nil {
		return
	}
	ticker := time.NewTicker(awaitAgain)
	defer ticker.Stop()
	for t.leads(id, to, term) {
		select {
		case <-back:
			return
		case <-ticker.C:
		}
	}
}

// leads says whether this node leads another one, in a term.
func (t *steadyTransport) leads(id raft.ServerID, to raft.ServerAddress, term uint64) bool {
	r := t.raft.Load()
	switch {
	case t.IsShutdown():
		return false
	case r == nil:
		return true
	case !isLeader(r) || r.CurrentTerm() != term:
		return false
	}
	for _, s := range r.GetConfiguration().Configuration().Servers {
		if s.ID == id {
			return s.Address == to
		}
	}
	return false
}
