package storage

import (
	"errors"
	"io/fs"

	"limitsrv/persist"
)

// SegmentBytes returns the size of a segment of the log, for Options.SnapshotLogBytes.
func SegmentBytes(snapshotLogBytes int64) int64 { return snapshotLogBytes / segmentShare }

// Reserve returns the bytes of a disk that snapshots and backups leave to the log, for
// Options.SnapshotLogBytes.
func Reserve(snapshotLogBytes int64) int64 {
	return persist.LogReserve(SegmentBytes(snapshotLogBytes))
}

// RemoveLeftovers removes unfinished snapshots and backups and incomplete files of killed
// processes from the directory of a node of a cluster. It writes nothing, so that it works
// on a full disk. Requires: no member's files are open.
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

// maxLowRoom bounds the bytes of LowRoom.
const maxLowRoom = 4 << 20

// LowRoom returns the free bytes of the disk below which a leader should decide nothing more,
// so that the room that is left is for the log of the cluster itself.
func (f *Files) LowRoom() int64 { return min(f.segmentBytes/8, maxLowRoom) }

// IsShort reports whether the log is about to have no room: little is free on the disk, or
// the newest segment has less room than it was to have, and the disk has none for another
// one. free are the free bytes then. Cost: one statfs(2), which may hang with the disk.
func (f *Files) IsShort() (free int64, short bool) {
	free, known := persist.FreeBytes(f.disk, f.dir)
	if !known {
		return 0, false
	}
	return free, free < f.LowRoom() || f.Log.Short() && free < f.segmentBytes+f.LowRoom()
}

// CheckRoom returns a *persist.NoRoomError if a snapshot of so many bytes would leave too
// little room for the log. It removes older snapshots before, if that is necessary.
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

// reap removes all snapshots but the newest.
func (f *Files) reap() error {
	if store, ok := f.Snapshots.SnapshotStore.(*snapshotStore); ok {
		return store.reap(1)
	}
	return nil
}

// FreeRoom makes room on a full disk: it removes all snapshots but the newest, and, if the
// log has several segments, the entries that the newest snapshot includes. Requires: no
// snapshot is being written.
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

// metaRoom is the room in bytes to write META anew: without it the log would break.
const metaRoom = 64 << 10
