package replication

import (
	"fmt"
	"time"

	"limitsrv/persist"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// errNoState is the answer to a backup before the node has any entry of its cluster.
var errNoState = link.NewError("LOADING", "nothing of the cluster's state has reached this node yet")

// errDividedBackup is the answer to a backup of a group that does not own all slots: a backup is restored
// into a cluster that owns all.
var errDividedBackup = link.NewError("ERR", "a backup does not keep which slots a group owns, so a cluster made of "+
	"it would own all: copy the data directory of a stopped node instead")

// Backup writes a backup of this node's state between two log entries, below its data
// directory: see persist.WriteBackup. done is called once, from another goroutine, with its
// path. An error means that no backup was started: persist.ErrSaving while a snapshot or
// another backup is under way. Decisions continue meanwhile.
//
// A follower may lack the leader's latest answered entries. The backup records the index
// of its last entry.
func (n *Node) Backup(name string, done func(path string, err error)) error {
	path, err := persist.BackupPath(n.dir.FS, n.dir.Path, name)
	if err != nil {
		return err
	}
	s := n.stack.Load()
	switch {
	case s == nil:
		return errLoading
	case s.FSM.Division() != nil:
		return errDividedBackup
	case s.FSM.Index() == 0:
		return errNoState
	}
	if !s.saving.Take() {
		return persist.ErrSaving
	}
	n.wait.Go(func() {
		err := n.backup(s, path)
		s.saving.Free()
		done(path, err)
	})
	return nil
}

// backup writes a backup. Requires: saving is taken.
func (n *Node) backup(s *raftStack, path string) error {
	began := time.Now()
	view, of := s.FSM.Freeze()
	defer view.Close()
	of.ID, of.Taken = n.identity().Node, began.UTC()
	if err := persist.WriteBackup(n.stopping, n.dir.FS, path, path+storage.Unfinished, view, s.FSM.Seed(), of,
		storage.Reserve(n.o.SnapshotLogBytes)); err != nil {
		err = fmt.Errorf("back up to %s: %w", path, err)
		if n.stopping.Err() != nil {
			n.log.Info("backup canceled because the server is stopping", "path", path)
			return err
		}
		n.log.Error("backup failed", "error", err)
		return err
	}
	n.log.Info("backup made", "path", path, "index", of.Index, "term", of.Term, "keys", view.Keys(), "took",
		time.Since(began).Round(time.Millisecond))
	return nil
}
