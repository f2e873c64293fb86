package persist

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft-wal/types"
)

// files is the file layer below raft-wal: a types.VFS over any vfs.FS. It implements the
// fsync policy: under Always a file's Sync is an fdatasync, under other policies it marks
// the file dirty for files.sync.
//
// A segment file exists on disk, with its space reserved, before META names it: prepare
// creates it, and Create returns it. So a segment that is named and does not exist was
// lost, and a full disk is detected in prepare.
type files struct {
	fs     vfs.FS
	policy Policy
	bytes  atomic.Int64 // written bytes of all segment files
	short  atomic.Bool  // the last segment has less reserved room than requested
	writes activity     // signalled when there is something to sync

	mu       sync.Mutex // guards all below
	dirty    map[*file]struct{}
	prepared map[string]*file // by path

	reopened *file // the last file that OpenWriter opened

	syncMu sync.Mutex // held during a sync, and to close a file
	failed error      // by the first sync that failed; guarded by syncMu
}

func newFiles(fs vfs.FS, policy Policy) *files {
	return &files{fs: fs, policy: policy, writes: newActivity(), dirty: map[*file]struct{}{}, prepared: map[string]*file{}}
}

// file is a segment file opened for writing. Concurrency: one goroutine writes, any may
// read.
type file struct {
	vfs.File
	parent *files
	size   int64
	dirty  atomic.Bool
	ahead  *readAhead // if set, reads go through it; then one goroutine may read
}

// leastReserved is the least room that is reserved for a segment, in bytes. The log can use it
// until the operator has noticed that the disk is nearly full.
const leastReserved = 256 << 10

// prepare creates an empty file, replacing an existing file, and reserves size bytes for it; size
// may be 0. If the disk is nearly full it reserves less, but at least leastReserved, and sets
// short.
func (f *files) prepare(path string, size int64) error {
	for room := size; ; room /= 2 {
		opened, err := f.reserve(path, room)
		if err == nil {
			f.short.Store(room < size)
			f.mu.Lock()
			f.prepared[path] = opened
			f.mu.Unlock()
			return nil
		}
		if !IsFull(err) || room/2 < leastReserved {
			return fmt.Errorf("create log segment %s of %d bytes: %w", path, room, err)
		}
	}
}

// reserve creates an empty file with reserved room. After an error it removes the file, so that it
// uses no room.
func (f *files) reserve(path string, size int64) (opened *file, err error) {
	made, err := f.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeIfThere(f.fs, path))
		}
	}()
	// vfs allows writes at an offset only on files from OpenReadWrite.
	if err := made.Close(); err != nil {
		return nil, err
	}
	if opened, err = f.openWriter(path); err != nil {
		return nil, err
	}
	if err = preallocate(opened.File, size); err == nil {
		err = opened.File.Sync()
	}
	if err == nil {
		err = syncDir(f.fs, f.fs.PathDir(path))
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return opened, nil
}

// preallocate reserves space. A file system without support for it is used as it is.
func preallocate(f vfs.File, size int64) error {
	for size > 0 {
		err := f.Preallocate(0, size)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, errors.ErrUnsupported):
			return nil
		default:
			return err
		}
	}
	return nil
}

// Create implements types.VFS: it returns the prepared file.
func (f *files) Create(dir, name string, _ uint64) (types.WritableFile, error) {
	path := f.fs.PathJoin(dir, name)
	f.mu.Lock()
	defer f.mu.Unlock()
	made := f.prepared[path]
	if made == nil {
		return nil, fmt.Errorf("create log segment %s: it was not prepared", path)
	}
	delete(f.prepared, path)
	return made, nil
}

// OpenWriter implements types.VFS. Reads of the file go through a readAhead until
// stopReadAhead, because raft-wal recovers a segment with reads of 8 bytes.
func (f *files) OpenWriter(dir, name string) (types.WritableFile, error) {
	opened, err := f.openWriter(f.fs.PathJoin(dir, name))
	if err != nil {
		return nil, err
	}
	opened.ahead = newReadAhead(opened.File, opened.size)
	f.reopened = opened
	return opened, nil
}

// stopReadAhead removes the readAhead of the file that OpenWriter opened last.
func (f *files) stopReadAhead() {
	if f.reopened != nil {
		f.reopened.ahead = nil
	}
}

func (f *files) openWriter(path string) (*file, error) {
	opened, err := f.fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return &file{File: opened, parent: f, size: info.Size()}, nil
}

// OpenReader implements types.VFS.
func (f *files) OpenReader(dir, name string) (types.ReadableFile, error) {
	return f.fs.Open(f.fs.PathJoin(dir, name))
}

// ListDir implements types.VFS.
func (f *files) ListDir(dir string) ([]string, error) { return f.fs.List(dir) }

// Delete implements types.VFS. The directory is not synced: a file that reappears after a
// power failure is deleted again when the log is opened.
func (f *files) Delete(dir, name string) error {
	path := f.fs.PathJoin(dir, name)
	info, err := f.fs.Stat(path)
	if err != nil {
		return err
	}
	if err := f.fs.Remove(path); err != nil {
		return err
	}
	f.bytes.Add(-info.Size())
	return nil
}

// errSync marks an error of syncing written data.
var errSync = errors.New("sync the log")

// sync puts all data written before the call on disk. After an error it is unknown which
// data is there, and a second attempt would not tell, so every later sync returns that
// error.
func (f *files) sync() error {
	f.syncMu.Lock()
	defer f.syncMu.Unlock()
	if f.failed != nil {
		return f.failed
	}
	f.mu.Lock()
	var dirty []*file
	for d := range f.dirty {
		dirty = append(dirty, d)
		d.dirty.Store(false)
	}
	clear(f.dirty)
	f.mu.Unlock()
	for _, d := range dirty {
		if err := d.SyncData(); err != nil {
			f.failed = fmt.Errorf("%w: %w", errSync, err)
			return f.failed
		}
	}
	return nil
}

// WriteAt implements types.WritableFile.
func (f *file) WriteAt(p []byte, offset int64) (int, error) {
	n, err := f.File.WriteAt(p, offset)
	if grown := offset + int64(n) - f.size; grown > 0 {
		f.size += grown
		f.parent.bytes.Add(grown)
	}
	return n, err
}

// ReadAt implements types.WritableFile.
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	if f.ahead == nil || len(p) > readAheadBytes {
		return f.File.ReadAt(p, offset)
	}
	b, err := f.ahead.at(offset, len(p))
	if err != nil {
		return 0, err
	}
	n := copy(p, b)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Sync implements types.WritableFile according to the policy.
func (f *file) Sync() error {
	if f.parent.policy == Always {
		if err := f.SyncData(); err != nil {
			return fmt.Errorf("%w: %w", errSync, err)
		}
		return nil
	}
	if f.dirty.Load() {
		return nil
	}
	f.parent.mu.Lock()
	f.dirty.Store(true)
	f.parent.dirty[f] = struct{}{}
	f.parent.mu.Unlock()
	f.parent.writes.mark()
	return nil
}

// Close closes the file when no sync is under way.
func (f *file) Close() error {
	f.parent.syncMu.Lock()
	defer f.parent.syncMu.Unlock()
	f.parent.mu.Lock()
	delete(f.parent.dirty, f)
	f.parent.mu.Unlock()
	return f.File.Close()
}

// closePrepared closes prepared files that Create has not returned.
func (f *files) closePrepared() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for path, made := range f.prepared {
		_ = made.File.Close() // it is empty
		delete(f.prepared, path)
	}
}

// syncDir puts the entries of a directory on disk.
func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
