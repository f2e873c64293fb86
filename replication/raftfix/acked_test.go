package raftfix

import (
	"testing"

	"github.com/hashicorp/raft"
)

// A heartbeat carries the commit index, up to the node's last accepted entry.
func TestHeartbeatWithCommit(t *testing.T) {
	var all ackedEntries
	all.record("empty", &raft.AppendEntriesRequest{Term: 7})
	all.record("has", &raft.AppendEntriesRequest{Term: 7, Entries: []*raft.Log{{Index: 8, Term: 5}, {Index: 9, Term: 6}}})
	for _, tt := range []struct {
		name      string
		id        raft.ServerID
		term      uint64
		committed uint64
		want      raft.AppendEntriesRequest
	}{
		{"a node that took nothing", "empty", 7, 5, raft.AppendEntriesRequest{}},
		{"its last accepted entry", "has", 7, 8,
			raft.AppendEntriesRequest{PrevLogEntry: 9, PrevLogTerm: 6, LeaderCommitIndex: 8}},
		{"more than it took", "has", 7, 12, raft.AppendEntriesRequest{PrevLogEntry: 9, PrevLogTerm: 6, LeaderCommitIndex: 9}},
		{"an entry accepted in an earlier term", "has", 8, 8, raft.AppendEntriesRequest{}},
	} {
		heartbeat := raft.AppendEntriesRequest{Term: tt.term}
		got := all.withCommit(tt.id, &heartbeat, tt.committed)
		if got.PrevLogEntry != tt.want.PrevLogEntry || got.PrevLogTerm != tt.want.PrevLogTerm ||
			got.LeaderCommitIndex != tt.want.LeaderCommitIndex ||
			got.Term != tt.term || !isHeartbeat(&heartbeat) {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
