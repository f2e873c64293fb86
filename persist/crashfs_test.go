package persist

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var errCrashed = errors.New("the power has failed")

// crashFS is a disk that loses power at a given change: from then on all operations fail,
// and after holds the contents of the disk after the crash. Reads do not count.
type crashFS struct {
	vfs.FS      // a file system that can crash
	left    int // changes before the crash
	percent int // of the unsynced data that survives
	random  *rand.Rand

	mu    sync.Mutex
	after *vfs.MemFS // nil before the crash
}

// step counts a change.
func (c *crashFS) step() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.after != nil {
		return errCrashed
	}
	if c.left > 0 {
		c.left--
		return nil
	}
	c.after = c.FS.(*vfs.MemFS).CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: c.percent,
		RNG:                 c.random,
	})
	return errCrashed
}

func (c *crashFS) file(open func() (vfs.File, error)) (vfs.File, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return &crashFile{File: file, fs: c}, nil
}

func (c *crashFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return c.file(func() (vfs.File, error) { return c.FS.Create(name, category) })
}

func (c *crashFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return c.file(func() (vfs.File, error) { return c.FS.OpenReadWrite(name, category, o...) })
}

func (c *crashFS) OpenDir(name string) (vfs.File, error) {
	return c.file(func() (vfs.File, error) { return c.FS.OpenDir(name) })
}

func (c *crashFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return c.file(func() (vfs.File, error) { return c.FS.ReuseForWrite(from, to, category) })
}

func (c *crashFS) change(do func() error) error {
	if err := c.step(); err != nil {
		return err
	}
	return do()
}

func (c *crashFS) Link(from, to string) error {
	return c.change(func() error { return c.FS.Link(from, to) })
}

func (c *crashFS) Remove(name string) error {
	return c.change(func() error { return c.FS.Remove(name) })
}

func (c *crashFS) RemoveAll(name string) error {
	return c.change(func() error { return c.FS.RemoveAll(name) })
}

func (c *crashFS) Rename(from, to string) error {
	return c.change(func() error { return c.FS.Rename(from, to) })
}

func (c *crashFS) MkdirAll(name string, mode os.FileMode) error {
	return c.change(func() error { return c.FS.MkdirAll(name, mode) })
}

func (c *crashFS) Lock(name string) (lock io.Closer, err error) {
	return lock, c.change(func() error { lock, err = c.FS.Lock(name); return err })
}

type crashFile struct {
	vfs.File
	fs *crashFS
}

func (c *crashFile) Write(p []byte) (n int, err error) {
	return n, c.fs.change(func() error { n, err = c.File.Write(p); return err })
}

func (c *crashFile) WriteAt(p []byte, at int64) (n int, err error) {
	return n, c.fs.change(func() error { n, err = c.File.WriteAt(p, at); return err })
}

func (c *crashFile) Sync() error { return c.fs.change(c.File.Sync) }

func (c *crashFile) SyncData() error { return c.fs.change(c.File.SyncData) }
