package replication

import (
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

// maxTrailing is the most entries kept behind a snapshot.
const maxTrailing = 1 << 20

// Save takes a snapshot of this node's state, so that its log can be truncated. done is
// called once, from another goroutine. It returns persist.ErrSaving if one is under way.
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

// save takes a snapshot, and keeps so many entries behind it. Requires: saving is taken.
func (n *Node) save(s *raftStack, trailing uint64) error {
	began := time.Now()
	n.setTrailing(s, trailing)
	err := s.raft.Snapshot().Error()
	if errors.Is(err, raft.ErrNothingNewToSnapshot) {
		err = nil
	}
	s.RefreshSnapshots()
	s.saveMu.Lock()
	s.lastSave = savedSnapshot{At: time.Now(), Took: time.Since(began), Err: err, Count: s.lastSave.Count + 1}
	s.saveMu.Unlock()
	if err != nil && s.FSM.Stopping() {
		n.log.Info("snapshot canceled because the node is stopping; the previous snapshot and the log remain")
		return err
	}
	if err != nil {
		n.log.Error("snapshot failed; the previous snapshot and the log remain", "error", err)
		return err
	}
	n.log.Info("snapshot taken", "index", s.raft.AppliedIndex(), "keys", s.FSM.Engine().Len(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// trailing returns the number of entries in half of the log that makes a snapshot due: a
// node that lacks no more needs no snapshot to catch up.
func (n *Node) trailing(s *raftStack) uint64 {
	applied := s.FSM.Counts()
	size := max(applied.Bytes/max(applied.Entries, 1), 1)
	return uint64(min(max(n.o.SnapshotLogBytes/2/size, n.o.leastTrailing), maxTrailing))
}

// setTrailing sets the number of entries kept behind the next snapshot.
func (n *Node) setTrailing(s *raftStack, entries uint64) {
	config := s.raft.ReloadableConfig()
	config.TrailingLogs = entries
	if err := s.raft.ReloadConfig(config); err != nil {
		n.log.Error("can't set the number of log entries kept behind a snapshot", "error", err)
	}
}

// snapshotIfLong begins a snapshot if the log has grown enough.
func (n *Node) snapshotIfLong(s *raftStack) {
	if since, last := s.FSM.SnapshotSizes(); since >= max(n.o.SnapshotLogBytes, last/2) {
		n.Save(func(error) {})
	}
}

// A savedSnapshot is the last attempt to take one.
type savedSnapshot struct {
	At    time.Time
	Took  time.Duration
	Err   error
	Count int64
}
