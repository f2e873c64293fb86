package raftfix

import (
	"errors"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// A SnapshotStore is raft's SnapshotStore, and times its writes and rejects snapshots from the
// leader that contain nothing new. One snapshot is written at a time, except that the leader
// may send a snapshot while the node takes its own: then the later write is timed.
type SnapshotStore struct {
	raft.SnapshotStore
	writing *persist.Stopwatch
	writes  atomic.Int64              // done so far
	refused atomic.Int64              // snapshots with nothing new so far
	newest  atomic.Pointer[raft.Log]  // index and term of the newest snapshot's last entry; nil: there is no snapshot
	raft    atomic.Pointer[raft.Raft] // nil until it runs: snapshots from a leader are rejected before
}

// NewSnapshotStore returns a [SnapshotStore] that keeps its snapshots in store. writing
// times its writes.
func NewSnapshotStore(store raft.SnapshotStore, writing *persist.Stopwatch) *SnapshotStore {
	return &SnapshotStore{SnapshotStore: store, writing: writing}
}

// SetRaft sets the raft that uses the store, when it has started.
func (s *SnapshotStore) SetRaft(r *raft.Raft) { s.raft.Store(r) }

// Counts returns the number of writes so far, and of snapshots with nothing new.
func (s *SnapshotStore) Counts() (writes, refused int64) { return s.writes.Load(), s.refused.Load() }

func (s *SnapshotStore) timed(write func() error) error {
	s.writing.Start()
	defer s.writing.Stop()
	return write()
}

// Create implements [raft.SnapshotStore].
func (s *SnapshotStore) Create(version raft.SnapshotVersion, index, term uint64, servers raft.Configuration, at uint64,
	t raft.Transport) (sink raft.SnapshotSink, err error) {
	err = s.timed(func() error {
		sink, err = s.SnapshotStore.Create(version, index, term, servers, at, t)
		return err
	})
	return &timedSink{SnapshotSink: sink, store: s, index: index, term: term}, err
}

// checkNew returns nil if raft lacks an entry of a snapshot up to index. It runs on raft's
// main goroutine, so that raft hands no entries to the FSM meanwhile.
func (s *SnapshotStore) checkNew(index uint64) error {
	r := s.raft.Load()
	switch {
	case r == nil:
		return errors.New("raft is starting")
	case index <= r.AppliedIndex():
		s.refused.Add(1)
		return errOldSnapshot
	}
	return nil
}

// A timedSink is the sink of a single snapshot.
type timedSink struct {
	raft.SnapshotSink
	store *SnapshotStore
	index uint64
	term  uint64
	own   bool // the node's own snapshot, not the leader's
	begun bool
}

func (s *timedSink) Write(data []byte) (written int, err error) {
	if !s.own && !s.begun {
		if err := s.store.checkNew(s.index); err != nil {
			return 0, err
		}
	}
	s.begun = true
	s.store.writes.Add(1)
	err = s.store.timed(func() error {
		written, err = s.SnapshotSink.Write(data)
		return err
	})
	return written, err
}

func (s *timedSink) Close() error {
	err := s.store.timed(s.SnapshotSink.Close)
	if err == nil {
		s.store.SetNewest(s.index, s.term)
	}
	return err
}

// MarkOwn marks a snapshot that this node takes itself, unlike a snapshot from the leader.
// Requires: nothing has been written to sink.
func MarkOwn(sink raft.SnapshotSink) {
	if s, ok := sink.(*timedSink); ok {
		s.own = true
	}
}

// Newest returns the last entry of the newest snapshot, and its term, 0 if there are no
// snapshots.
func (s *SnapshotStore) Newest() (index, term uint64) {
	if last := s.newest.Load(); last != nil {
		return last.Index, last.Term
	}
	return 0, 0
}

// SetNewest records a complete snapshot, unless it is older than the newest snapshot.
func (s *SnapshotStore) SetNewest(index, term uint64) {
	if last := s.newest.Load(); last == nil || last.Index < index {
		s.newest.Store(&raft.Log{Index: index, Term: term, Type: snapshotEnd})
	}
}

// snapshotEnd is the type of the log entry that represents the last entry of the newest
// snapshot. It is never sent to a node.
const snapshotEnd raft.LogType = 0xff

// lastEntry synthesizes the log entry at the newest snapshot's last index for a follower;
// nil: no entry. If entries of a former leader follow a snapshot from the leader, raft
// v1.7.3 looks up the term of the entry before them, does not find it, rejects all
// requests, and is sent the same snapshot forever.
//
// Source: hashicorp/raft, issue 697.
func (s *SnapshotStore) lastEntry(index uint64) *raft.Log {
	last, r := s.newest.Load(), s.raft.Load()
	if last == nil || last.Index != index || r == nil || r.State() == raft.Leader {
		return nil
	}
	return last
}
