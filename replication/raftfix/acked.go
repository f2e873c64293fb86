package raftfix

import (
	"sync"

	"github.com/hashicorp/raft"
)

// ackedEntries holds the last entry that each follower acknowledged. The zero value is
// empty. Concurrency: any goroutine.
type ackedEntries struct {
	mu      sync.Mutex
	entries map[raft.ServerID]ackedEntry
}

// An ackedEntry is an entry that a follower accepted from the leader of leaderTerm.
type ackedEntry struct{ leaderTerm, index, term uint64 }

// record notes that a node has accepted all entries of a request.
func (t *ackedEntries) record(id raft.ServerID, request *raft.AppendEntriesRequest) {
	n := len(request.Entries)
	if n == 0 {
		return
	}
	end := request.Entries[n-1]
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.entries == nil {
		t.entries = make(map[raft.ServerID]ackedEntry)
	}
	t.entries[id] = ackedEntry{request.Term, end.Index, end.Term}
}

// withCommit returns the heartbeat with the commit index added, up to the last entry that
// the node accepted from the leader of the same term. Beyond that its log may have other
// entries, which raft v1.7.3 would take for committed.
func (t *ackedEntries) withCommit(id raft.ServerID, heartbeat *raft.AppendEntriesRequest,
	committed uint64) *raft.AppendEntriesRequest {
	t.mu.Lock()
	end, ok := t.entries[id]
	t.mu.Unlock()
	if !ok || end.leaderTerm != heartbeat.Term {
		return heartbeat
	}
	telling := *heartbeat
	telling.PrevLogEntry, telling.PrevLogTerm = end.index, end.term
	telling.LeaderCommitIndex = min(committed, end.index)
	return &telling
}
