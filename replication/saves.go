package replication

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
	"limitsrv/replication/storage"
)

// maxTrailing is the most entries kept before a snapshot.
const maxTrailing = 1 << 20

// Save takes a snapshot of this node's state, so that its log can be truncated. done is
// called once, from another goroutine. It returns persist.ErrSaving if a snapshot is under
// way.
func (n *Node) Save(done func(error)) error {
	s := n.stack.Load()
	if s == nil {
		return errLoading
	}
	if !s.saving.Take() {
		return persist.ErrSaving
	}
	n.wait.Go(func() {
		err := n.save(s, n.trailing(s))
		s.saving.Free()
		done(err)
	})
	return nil
}

// save takes a snapshot, and keeps so many entries before it. Requires: saving is taken.
func (n *Node) save(s *raftStack, trailing uint64) error {
	began := time.Now()
	n.setTrailing(s, trailing)
	err := s.CheckRoom(s.expectedBytes())
	if err == nil {
		err = s.raft.Snapshot().Error()
	}
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		err = nil
	}
	s.RefreshSnapshots()
	known := s.recordSave(began, err)
	switch {
	case err != nil && s.FSM.Stopping():
		n.log.Info("snapshot canceled because the node is stopping; the previous snapshot and the log remain")
		return err
	case known: // the previous failure was logged, and INFO shows it
		n.log.Debug("snapshot failed again", "error", err)
		return err
	case err != nil:
		n.log.Error("snapshot failed; the previous snapshot and the log remain, the log grows, and snapshots are tried again",
			"error", err)
		return err
	}
	n.log.Info("snapshot taken", "index", s.raft.AppliedIndex(), "keys", s.FSM.Engine().Len(), "took",
		time.Since(began).Round(time.Millisecond))
	return nil
}

// memoryShare bounds the estimate of a snapshot from below: at least 1/memoryShare of the keys'
// memory.
const memoryShare = 4

// expectedBytes returns the estimated size of the next snapshot, in bytes.
func (s *raftStack) expectedBytes() int64 {
	return max(s.Newest().Size, s.FSM.Engine().MemoryBytes()/memoryShare)
}

// recordSave records an attempt to take a snapshot. known reports whether the previous attempt
// failed in the same way: both or neither because the disk was full.
func (s *raftStack) recordSave(began time.Time, err error) (known bool) {
	s.saveMu.Lock()
	defer s.saveMu.Unlock()
	before := s.lastSave.Err
	s.lastSave = savedSnapshot{At: time.Now(), Took: time.Since(began), Err: err, Count: s.lastSave.Count + 1}
	if err == nil {
		s.retry.Reset()
		return false
	}
	s.nextSave = time.Now().Add(s.retry.Pause())
	return before != nil && persist.IsFull(before) == persist.IsFull(err)
}

// trailing returns the number of entries in half of the log that makes a snapshot due: a
// node that lacks no more needs no snapshot to catch up.
func (n *Node) trailing(s *raftStack) uint64 {
	applied := s.FSM.Counts()
	size := max(applied.Bytes/max(applied.Entries, 1), 1)
	return uint64(min(max(n.o.SnapshotLogBytes/2/size, n.o.leastTrailing), maxTrailing))
}

// setTrailing sets the number of entries kept before the next snapshot.
func (n *Node) setTrailing(s *raftStack, entries uint64) {
	config := s.raft.ReloadableConfig()
	config.TrailingLogs = entries
	if err := s.raft.ReloadConfig(config); err != nil {
		n.log.Error("can't set the number of log entries kept behind a snapshot", "error", err)
	}
}

// snapshotIfLong begins a snapshot if the log has grown enough.
func (n *Node) snapshotIfLong(s *raftStack) {
	since, last := s.FSM.SnapshotSizes()
	if since < max(n.o.SnapshotLogBytes, last/2) {
		return
	}
	s.saveMu.Lock()
	waits := s.lastSave.Err != nil && time.Now().Before(s.nextSave)
	s.saveMu.Unlock()
	if !waits {
		n.Save(func(error) {})
	}
}

// checkRoom begins a check of the free space on the disk, unless a check is running: its statfs(2)
// may hang with the disk. If there is too little room, it removes all old snapshots and unneeded
// log entries. While that does not help, this node logs no decisions.
func (n *Node) checkRoom(s *raftStack) {
	if !n.checkingRoom.CompareAndSwap(false, true) {
		return
	}
	n.wait.Go(func() {
		defer n.checkingRoom.Store(false)
		free, short := s.IsShort()
		if short && s.saving.Take() {
			err := s.FreeRoom()
			s.saving.Free()
			if err != nil && n.logOnce.Allow("room") {
				n.log.Warn("can't remove old snapshots and entries from a full disk", "dir", n.o.Dir, "error", err)
			}
			free, short = s.IsShort()
		}
		switch {
		case n.short.Swap(short) == short:
		case short:
			n.log.Error("the disk is nearly full: while this node leads, it answers reads and decides nothing; remove files "+
				"that are not limitsrv's, or enlarge the disk",
				"dir", n.o.Dir, "free_mb", free>>20, "needed_mb", (storage.SegmentBytes(n.o.SnapshotLogBytes)+s.LowRoom())>>20)
		default:
			n.log.Info("the disk has room again", "dir", n.o.Dir, "free_mb", free>>20)
		}
	})
}

// A savedSnapshot is the last attempt to take a snapshot.
type savedSnapshot struct {
	At    time.Time
	Took  time.Duration
	Err   error
	Count int64
}
