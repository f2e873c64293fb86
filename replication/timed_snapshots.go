package replication

import (
	"errors"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// snapshotsWatched is a SnapshotStore whose writes are timed, and that takes none
// from the leader that has nothing new. One snapshot is written at a time, but for one
// that the leader sends while the node takes its own: then the younger write is.
type timedSnapshots struct {
	raft.SnapshotStore
	writing *persist.Stopwatch
	writes  atomic.Int64              // that were taken so far
	refused atomic.Int64              // snapshots with nothing new so far
	newest  atomic.Pointer[raft.Log]  // index and term of what the newest ends with; nil: there is none
	raft    atomic.Pointer[raft.Raft] // nil until it runs: nothing is taken from a leader before
}

func (s *timedSnapshots) timed(write func() error) error {
	s.writing.Start()
	defer s.writing.Stop()
	return write()
}

func (s *timedSnapshots) Create(version raft.SnapshotVersion, index, term uint64, servers raft.Configuration, at uint64, t raft.Transport) (sink raft.SnapshotSink, err error) {
	err = s.timed(func() error {
		sink, err = s.SnapshotStore.Create(version, index, term, servers, at, t)
		return err
	})
	return &timedSink{SnapshotSink: sink, store: s, index: index, term: term}, err
}

// news is nil if raft lacks something of a snapshot up to index. Raft's main
// goroutine asks, so that what raft has handed to the machine does not change meanwhile.
func (s *timedSnapshots) checkNew(index uint64) error {
	r := s.raft.Load()
	switch {
	case r == nil:
		return errors.New("raft is being started")
	case index <= r.AppliedIndex():
		s.refused.Add(1)
		return errOldSnapshot
	}
	return nil
}

// sinkWatched is where a snapshot is written to.
type timedSink struct {
	raft.SnapshotSink
	store *timedSnapshots
	index uint64
	term  uint64
	own   bool // it is the node's own, and not from the leader
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
		s.store.setNewest(s.index, s.term)
	}
	return err
}

// endsWith takes note of a snapshot that is complete.
func (s *timedSnapshots) setNewest(index, term uint64) {
	if last := s.newest.Load(); last == nil || last.Index < index {
		s.newest.Store(&raft.Log{Index: index, Term: term, Type: snapshotEnd})
	}
}

// snapshotEnd is the type of what stands in a log for the entry that the newest
// snapshot ends with. No node is sent one.
const snapshotEnd raft.LogType = 0xff

// end is what a follower's log has in place of an entry that only its newest snapshot
// has; nil: nothing. When a snapshot came from the leader, and behind it what another
// leader does not know of, raft v1.7.3 looks in vain for the term of the entry before
// that, refuses all, and is sent the same snapshot again for ever.
//
// Source: hashicorp/raft, issue 697.
func (s *timedSnapshots) lastEntry(index uint64) *raft.Log {
	last, r := s.newest.Load(), s.raft.Load()
	if last == nil || last.Index != index || r == nil || isLeader(r) {
		return nil
	}
	return last
}
