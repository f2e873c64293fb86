package raftfix

import (
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// unreachablePeers are the nodes that did not accept the leader's last request and have
// not answered a heartbeat since. The zero value is empty. Concurrency: any goroutine.
type unreachablePeers struct {
	mu       sync.Mutex
	answered map[raft.ServerID]chan struct{} // closed when that node answers
}

// recordSend notes the result of a request that is not a heartbeat.
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

// markReachable notes that a node answers.
func (a *unreachablePeers) markReachable(id raft.ServerID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if back := a.answered[id]; back != nil {
		close(back)
		delete(a.answered, id)
	}
}

// reachablePoll is the interval between waitReachable's calls of wanted.
const reachablePoll = 50 * time.Millisecond

// waitReachable blocks until an unreachable node answers, or wanted returns false.
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

// isHeartbeat reports whether a request is a heartbeat, by the same test as raft v1.7.3.
func isHeartbeat(r *raft.AppendEntriesRequest) bool {
	return r.PrevLogEntry == 0 && r.PrevLogTerm == 0 && len(r.Entries) == 0 && r.LeaderCommitIndex == 0
}

// leadsMember reports whether this node is the leader of term and the node id is a member at
// target.
func (t *Transport) leadsMember(id raft.ServerID, target raft.ServerAddress, term uint64) bool {
	r := t.raft.Load()
	switch {
	case t.IsShutdown():
		return false
	case r == nil:
		return true
	case r.State() != raft.Leader || r.CurrentTerm() != term:
		return false
	}
	for _, s := range r.GetConfiguration().Configuration().Servers {
		if s.ID == id {
			return s.Address == target
		}
	}
	return false
}
