package replication

import (
	"sync"

	"github.com/hashicorp/raft"
)

// taken is which entry each other node took last from this one. The zero value has none.
// Many may call its methods at once.
type taken struct {
	mu   sync.Mutex
	last map[raft.ServerID]takenEntry
}

// A takenEntry is an entry that a node took from the leader of a term.
type takenEntry struct{ leads, index, term uint64 }

// took takes note of the entries of a request, all of which a node has taken.
func (t *taken) took(id raft.ServerID, request *raft.AppendEntriesRequest) {
	n := len(request.Entries)
	if n == 0 {
		return
	}
	end := request.Entries[n-1]
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = make(map[raft.ServerID]takenEntry)
	}
	t.last[id] = takenEntry{request.Term, end.Index, end.Term}
}

// telling is a heartbeat that tells a node what is committed, as far as it took that from
// the leader of the same term. Beyond that its log may have others, of which raft v1.7.3
// would take the commit for theirs.
func (t *taken) telling(id raft.ServerID, heartbeat *raft.AppendEntriesRequest, committed uint64) *raft.AppendEntriesRequest {
	t.mu.Lock()
	end, ok := t.last[id]
	t.mu.Unlock()
	if !ok || end.leads != heartbeat.Term {
		return heartbeat
	}
	telling := *heartbeat
	telling.PrevLogEntry, telling.PrevLogTerm = end.index, end.term
	telling.LeaderCommitIndex = min(committed, end.index)
	return &telling
}
