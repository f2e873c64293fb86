package raftfix

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// A node that does not lead returns an entry for the last index of its newest snapshot, and
// no entry for other indexes.
func TestLogEndsInSnapshot(t *testing.T) {
	for _, leads := range []bool{false, true} {
		snapshots := NewSnapshotStore(raft.NewInmemSnapshotStore(), persist.NewDiskWatch().Stopwatch())
		snapshots.SetRaft(startRaft(t, leads))
		l := NewLogStore(raft.NewInmemStore(), LogStoreOptions{Snapshots: snapshots})
		snapshots.SetNewest(1<<40, 7)
		snapshots.SetNewest(1<<39, 6) // an older snapshot
		if index, term := snapshots.Newest(); index != 1<<40 || term != 7 {
			t.Errorf("the newest snapshot ends with entry %d of term %d", index, term)
		}
		for _, tt := range []struct {
			name  string
			index uint64
			want  bool
		}{
			{"the last entry of the snapshot", 1 << 40, !leads},
			{"the last entry of an older one", 1 << 39, false},
			{"a missing entry", 1<<40 + 1, false},
		} {
			var got raft.Log
			err := l.GetLog(tt.index, &got)
			switch {
			case tt.want && (err != nil || got.Index != tt.index || got.Term != 7 || got.Type != snapshotEnd):
				t.Errorf("%s: %+v, %v", tt.name, got, err)
			case !tt.want && !errors.Is(err, raft.ErrLogNotFound):
				t.Errorf("%s, leads %v: %+v, %v; want %v", tt.name, leads, got, err, raft.ErrLogNotFound)
			}
		}
	}
}

// startRaft starts a raft of a single member, which leads, or without members, which
// follows.
func startRaft(t *testing.T, leads bool) *raft.Raft {
	t.Helper()
	c, store := raft.DefaultConfig(), raft.NewInmemStore()
	c.LocalID, c.LogOutput = "a", io.Discard
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = 50*time.Millisecond, 50*time.Millisecond,
		50*time.Millisecond
	address, transport := raft.NewInmemTransport("")
	r, err := raft.NewRaft(c, &raft.MockFSM{}, store, store, raft.NewInmemSnapshotStore(), transport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Shutdown().Error() })
	if leads {
		r.BootstrapCluster(raft.Configuration{Servers: []raft.Server{{ID: "a", Address: address}}})
		if !<-r.LeaderCh() {
			t.Fatal("it does not lead")
		}
	}
	return r
}

// A node that lost leadership does not send the entry that represents a snapshot's end.
func TestSnapshotEntryIsNotSent(t *testing.T) {
	s := newPipeNet(t).transport(t, "a:1")
	request := &raft.AppendEntriesRequest{PrevLogEntry: 1, Entries: []*raft.Log{{Index: 2}, {Index: 3, Type: snapshotEnd}}}
	if err := s.AppendEntries("b", "b:1", request, nil); !errors.Is(err, raft.ErrLogNotFound) {
		t.Errorf("it is sent: %v", err)
	}
}
