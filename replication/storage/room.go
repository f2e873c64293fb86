package storage

import (
	"errors"
	"io/fs"

	"limitsrv/persist"
)

// SegmentBytes returns the size of a log segment in bytes, for a value of Options.SnapshotLogBytes.
func SegmentBytes(snapshotLogBytes int64) int64 { return snapshotLogBytes / segmentShare }

// Reserve returns the number of bytes that snapshots and backups leave free for the log, for a
// value of Options.SnapshotLogBytes.
func Reserve(snapshotLogBytes int64) int64 {
	return persist.LogReserve(SegmentBytes(snapshotLogBytes))
}

// RemoveLeftovers removes unfinished snapshots, backups and other files that killed processes have
// left in the directory of a cluster node. It writes nothing, so it works on a full disk. Requires:
// no member's files are open.
func RemoveLeftovers(d *persist.Dir) error {
	err := d.RemoveLeftovers()
	all := d.FS.PathJoin(d.Path, nodesDir)
	nodes, listed := d.FS.List(all)
	if listed != nil && !errors.Is(listed, fs.ErrNotExist) {
		err = errors.Join(err, listed)
	}
	for _, node := range nodes {
		err = errors.Join(err, removeUnfinished(d.FS, d.FS.PathJoin(all, node, SnapshotsName)))
	}
	return err
}

// maxLowRoom bounds LowRoom, in bytes.
const maxLowRoom = 4 << 20

// LowRoom returns the least number of free bytes for a leader to log decisions, so that the
// remaining room is left to raft's own entries.
func (f *Files) LowRoom() int64 { return min(f.segmentBytes/8, maxLowRoom) }

// IsShort reports whether the log is about to run out of room: the disk has fewer free bytes than
// LowRoom, or the newest segment did not get its full size and there is no room for another
// segment. free is the number of free bytes. Cost: a statfs(2), which may hang with the disk.
func (f *Files) IsShort() (free int64, short bool) {
	free, known := persist.FreeBytes(f.disk, f.dir)
	if !known {
		return 0, false
	}
	return free, free < f.LowRoom() || f.Log.Short() && free < f.segmentBytes+f.LowRoom()
}

// CheckRoom returns a *persist.NoRoomError if a snapshot of this size would leave too little room
// for the log. Before that it removes all snapshots except the newest, if they take the room.
func (f *Files) CheckRoom(bytes int64) error {
	reserve := persist.LogReserve(f.segmentBytes)
	err := persist.CheckRoom(f.disk, f.dir, bytes, reserve)
	if err == nil {
		return nil
	}
	if freed := f.reap(); freed != nil {
		return errors.Join(err, freed)
	}
	return persist.CheckRoom(f.disk, f.dir, bytes, reserve)
}

// reap removes all snapshots except the newest.
func (f *Files) reap() error {
	if store, ok := f.Snapshots.SnapshotStore.(*snapshotStore); ok {
		return store.reap(1)
	}
	return nil
}

// FreeRoom makes room on a full disk. It removes all snapshots except the newest and, if the log
// has more than one segment, the entries that the newest snapshot includes. Requires: no snapshot
// is being written.
func (f *Files) FreeRoom() error {
	if err := f.reap(); err != nil {
		return err
	}
	newest, _ := f.Snapshots.Newest()
	if free, known := persist.FreeBytes(f.disk, f.dir); f.Log.Segments() < 2 || known && free < metaRoom {
		return nil
	}
	return f.Entries.DeleteRange(f.Log.First(), min(newest, f.Log.Last()-1))
}

// metaRoom is the number of bytes that a rewrite of META needs. If that write failed, the log would
// break.
const metaRoom = 64 << 10
