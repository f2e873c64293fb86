package replication

import (
	"fmt"
	"time"

	"limitsrv/persist"
	"limitsrv/replication/storage"
)

// roomRetryEvery is the pause before the first attempt to start raft on a disk that was full.
const roomRetryEvery = time.Second

// diskFailed is called when the log, the term or the vote can't be written. It does not
// block. A disk that fails ends the node; a full one stops its raft until there is room.
func (n *Node) diskFailed(err error) {
	if !persist.IsFull(err) {
		n.fatal(err)
		return
	}
	n.wait.Go(func() {
		n.raftMu.Lock()
		defer n.raftMu.Unlock()
		if n.stopping.Err() != nil || n.stack.Load() == nil {
			return
		}
		hangs := time.AfterFunc(storage.FollowerHang, func() {
			n.fatal(fmt.Errorf("the disk is full and raft was not stopped within %v: %w", storage.FollowerHang, err))
		})
		stopped := n.stopRaft()
		hangs.Stop()
		if stopped != nil {
			n.fatal(fmt.Errorf("the disk is full (%w) and raft can't be stopped: %w", err, stopped))
			return
		}
		n.awaitRoom(err)
	})
}

// awaitRoom starts raft when a disk that is full has room. It returns when that is done or
// the node stops. Requires: raftMu is held, and raft does not run.
func (n *Node) awaitRoom(why error) {
	n.log.Error("the disk is full: this node takes no part in its cluster until there is room; remove files that are not limitsrv's, or enlarge the disk",
		"dir", n.o.Dir, "needed_mb", storage.SegmentBytes(n.o.SnapshotLogBytes)>>20, "error", why)
	began, retry := time.Now(), persist.Retry{Every: roomRetryEvery}
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-time.After(retry.Pause()):
		}
		err := n.startRaft()
		switch {
		case err == nil:
			n.log.Info("the disk has room again: this node takes part in its cluster", "after", time.Since(began).Round(time.Second))
			return
		case n.stopping.Err() != nil:
			return
		case !persist.IsFull(err):
			n.fatal(fmt.Errorf("the disk was full and raft can't be started: %w", err))
			return
		}
	}
}

// checkRoom begins a check of the room on the disk, unless one is under way: the statfs(2) in
// it may hang with the disk. While there is little room, this node decides nothing, and the
// snapshots and entries that it can do without are removed.
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
			n.log.Error("the disk is nearly full: while this node leads, it answers reads and decides nothing; remove files that are not limitsrv's, or enlarge the disk",
				"dir", n.o.Dir, "free_mb", free>>20, "needed_mb", (storage.SegmentBytes(n.o.SnapshotLogBytes)+s.LowRoom())>>20)
		default:
			n.log.Info("the disk has room again", "dir", n.o.Dir, "free_mb", free>>20)
		}
	})
}
