package replication

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// absences are who did not take what the leader sent, until they answer a heartbeat.
// The zero value has none. Many may call its methods at once.
type absences struct {
	mu   sync.Mutex
	back map[raft.ServerID]chan struct{} // closed when that node answers
}

// sent takes note of whether a node took what is not a heartbeat.
func (a *absences) sent(id raft.ServerID, err error) {
	if err == nil {
		a.found(id)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.back == nil {
		a.back = make(map[raft.ServerID]chan struct{})
	}
	if a.back[id] == nil {
		a.back[id] = make(chan struct{})
	}
}

// found takes note of a node that answers.
func (a *absences) found(id raft.ServerID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if back := a.back[id]; back != nil {
		close(back)
		delete(a.back, id)
	}
}

// awaitAgain is how often it is asked whether somebody is still to be waited for.
const awaitAgain = 50 * time.Millisecond

// await waits until a node that is absent answers, or is not wanted any more.
func (a *absences) await(id raft.ServerID, wanted func() bool) {
	a.mu.Lock()
	back := a.back[id]
	a.mu.Unlock()
	if back == nil {
		return
	}
	ticker := time.NewTicker(awaitAgain)
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
func (t *steadyTransport) leads(id raft.ServerID, target raft.ServerAddress, term uint64) bool {
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
