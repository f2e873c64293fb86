package replication

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// absences are who did not take what the leader sent, until they answer a heartbeat.
// The zero value has none. Many may call its methods at once.
type unreachablePeers struct {
	mu   sync.Mutex
	answered map[raft.ServerID]chan struct{} // closed when that node answers
}

// sent takes note of whether a node took what is not a heartbeat.
func (a *unreachablePeers) recordSend(id raft.ServerID, err error) {
	if err == nil {
		a.markReachable(id)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answered == nil {
		a.answered = make(map[raft.ServerID]chan struct{})
	}
	if a.answered[id] == nil {
		a.answered[id] = make(chan struct{})
	}
}

// found takes note of a node that answers.
func (a *unreachablePeers) markReachable(id raft.ServerID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if back := a.answered[id]; back != nil {
		close(back)
		delete(a.answered, id)
	}
}

// awaitAgain is how often it is asked whether somebody is still to be waited for.
const reachablePoll = 50 * time.Millisecond

// await waits until a node that is absent answers, or is not wanted any more.
func (a *unreachablePeers) waitReachable(id raft.ServerID, wanted func() bool) {
	a.mu.Lock()
	back := a.answered[id]
	a.mu.Unlock()
	if back == nil {
		return
	}
	ticker := time.NewTicker(reachablePoll)
	defer ticker.Stop()
	for wanted() {
		select {
		case <-back:
			return
		case <-ticker.C:
		}
	}
}

// isHeartbeat says whether a request only tells who leads: raft v1.7.3 knows them by the same.
func isHeartbeat(r *raft.AppendEntriesRequest) bool {
	return r.PrevLogEntry == 0 && r.PrevLogTerm == 0 && len(r.Entries) == 0 && r.LeaderCommitIndex == 0
}

// leads says whether this node leads another one, at an address, in a term.
func (t *patchedTransport) leads(id raft.ServerID, target raft.ServerAddress, term uint64) bool {
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
			return s.Address == target
		}
	}
	return false
}
