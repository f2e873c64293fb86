package replication

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// snapshotsWatched is a SnapshotStore whose writes are timed, and that takes none
// from the leader that has nothing new. One snapshot is written at a time, but for one
// that the leader sends while the node takes its own: then the younger write is.
type snapshotsWatched struct {
	raft.SnapshotStore
	mono    func() time.Duration
	writing stopwatch
	writes  atomic.Int64              // so far
	raft    atomic.Pointer[raft.Raft] // nil until it runs: nothing is taken from a leader before
}

func (s *snapshotsWatched) watch(write func() error) error {
	s.writing.start(s.mono())
	defer s.writing.stop()
	s.writes.Add(1)
	return write()
}

func (s *snapshotsWatched) Create(version raft.SnapshotVersion, index, term uint64, servers raft.Configuration, at uint64, t raft.Transport) (sink raft.SnapshotSink, err error) {
	err = s.watch(func() error {
		sink, err = s.SnapshotStore.Create(version, index, term, servers, at, t)
		return err
	})
	return &sinkWatched{SnapshotSink: sink, store: s, index: index}, err
}

// news is nil if raft lacks something of a snapshot up to index. Raft's main
// goroutine asks, so that what raft has handed to the machine does not change meanwhile.
func (s *snapshotsWatched) news(index uint64) error {
	r := s.raft.Load()
	switch {
	case r == nil:
		return errors.New("raft is being started")
	case index <= r.AppliedIndex():
		return errOldSnapshot
	}
	return nil
}

// sinkWatched is where a snapshot is written to.
type sinkWatched struct {
	raft.SnapshotSink
	store *snapshotsWatched
	index uint64
	own   bool // it is the node's own, and not from the leader
	begun bool
}

func (s *sinkWatched) Write(data []byte) (written int, err error) {
	if !s.own && !s.begun {
		if err := s.store.news(s.index); err != nil {
			return 0, err
		}
	}
	s.begun = true
	err = s.store.watch(func() error {
		written, err = s.SnapshotSink.Write(data)
		return err
	})
	return written, err
}

func (s *sinkWatched) Close() error { return s.store.watch(s.SnapshotSink.Close) }
