package replication

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

const (
	watchEvery = 50 * time.Millisecond
	// leaderHang is how long the disk of the leader may take for one write. Raft v1.7.3
	// goes on with heartbeats meanwhile, so that nobody else is elected (issue 503).
	leaderHang = time.Second
	// followerHang is how long that of another node may: the cluster goes on without it.
	followerHang = 30 * time.Second
)

// watchDisk is the goroutine that ends a node whose disk hangs.
func (n *Node) watchDisk() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-ticker.C:
		}
		s := n.seat.Load()
		if s == nil {
			continue
		}
		if err := s.hanging(n.mono(), isLeader(s.raft)); err != nil {
			n.fatal(err)
			return
		}
	}
}

// hanging says which write has taken too long at a reading of the monotonic clock,
// nil if none has.
func (s *seat) hanging(now time.Duration, leads bool) error {
	most := followerHang
	if leads {
		most = leaderHang
	}
	for _, w := range []struct {
		what  string
		watch *stopwatch
		most  time.Duration
	}{
		{"the log", &s.logs.storing, most},
		{"the term and the vote", &s.voting, most},
		{"a snapshot", &s.snapshots.writing, followerHang},
	} {
		if took := w.watch.running(now); took > w.most {
			return fmt.Errorf("the disk has not answered a write of %s for %v", w.what, took.Round(time.Millisecond))
		}
	}
	return nil
}

// A stopwatch tells for how long something is under way, one thing at a time. Many
// may look at it.
type stopwatch struct{ since atomic.Int64 }

// start starts it, at a reading of a monotonic clock.
func (w *stopwatch) start(now time.Duration) { w.since.Store(max(int64(now), 1)) }

func (w *stopwatch) stop() { w.since.Store(0) }

// running is for how long it has been started, 0 if it is not.
func (w *stopwatch) running(now time.Duration) time.Duration {
	since := w.since.Load()
	if since == 0 {
		return 0
	}
	return now - time.Duration(since)
}

// snapshotsWatched is a SnapshotStore whose writes are timed. One snapshot is
// written at a time, but for one that the leader sends while the node takes its own:
// then the younger write is.
type snapshotsWatched struct {
	raft.SnapshotStore
	mono    func() time.Duration
	writing stopwatch
	writes  atomic.Int64 // so far
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
	return &sinkWatched{sink, s}, err
}

// sinkWatched is where a snapshot is written to.
type sinkWatched struct {
	raft.SnapshotSink
	store *snapshotsWatched
}

func (s *sinkWatched) Write(data []byte) (written int, err error) {
	err = s.store.watch(func() error {
		written, err = s.SnapshotSink.Write(data)
		return err
	})
	return written, err
}

func (s *sinkWatched) Close() error { return s.store.watch(s.SnapshotSink.Close) }
