package replication

import (
	"errors"
	"testing"

	"github.com/hashicorp/raft"
)

// A follower's log returns an entry for the last index of its newest snapshot, and none
// for others.
func TestLogEndsInSnapshot(t *testing.T) {
	c := startCluster(t, 2, nil)
	leader := c.leader()
	follower := c.other(leader)
	for _, n := range []*Node{leader, follower} {
		s := n.stack.Load()
		s.snapshots.setNewest(1<<40, 7)
		s.snapshots.setNewest(1<<39, 6) // an older one
		for _, tt := range []struct {
			name  string
			index uint64
			want  bool
		}{
			{"the last entry of the snapshot", 1 << 40, n == follower},
			{"the last entry of an older one", 1 << 39, false},
			{"a missing entry", 1<<40 + 1, false},
		} {
			var got raft.Log
			err := s.entries.GetLog(tt.index, &got)
			switch {
			case tt.want && (err != nil || got.Index != tt.index || got.Term != 7 || got.Type != snapshotEnd):
				t.Errorf("%s: %+v, %v", tt.name, got, err)
			case !tt.want && !errors.Is(err, raft.ErrLogNotFound):
				t.Errorf("%s, on %v: %+v, %v; want %v", tt.name, n == leader, got, err, raft.ErrLogNotFound)
			}
		}
	}
}

// A node that lost leadership does not send the entry that represents a snapshot's end.
func TestSnapshotEntryIsNotSent(t *testing.T) {
	s := newPatchedTransport(nil, "a:1", func(string) string { return "" })
	request := &raft.AppendEntriesRequest{PrevLogEntry: 1, Entries: []*raft.Log{{Index: 2}, {Index: 3, Type: snapshotEnd}}}
	if err := s.AppendEntries("b", "b:1", request, nil); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("it is sent: %v", err)
	}
}
