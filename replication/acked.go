package replication

import (
	"sync"

	"github.com/hashicorp/raft"
)

// taken is which entry each other node took last from this one. The zero value has none.
// Many may call its methods at once.
type ackedEntries struct {
	mu   sync.Mutex
	entries map[raft.ServerID]ackedEntry
}

// A takenEntry is an entry that a node took from the leader of a term.
type ackedEntry struct{ leaderTerm, index, term uint64 }

// took takes note of the entries of a request, all of which a node has taken.
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

// telling is a heartbeat that tells a node what is committed, as far as it took that from
// the leader of the same term. Beyond that its log may have others, of which raft v1.7.3
// would take the commit for theirs.
func (t *ackedEntries) withCommit(id raft.ServerID, heartbeat *raft.AppendEntriesRequest, committed uint64) *raft.AppendEntriesRequest {
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
