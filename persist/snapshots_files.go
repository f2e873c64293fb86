package persist

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var errAbandoned = errors.New("the store is closed")

// A trackedFS is the file system of one opening of a store. When it is abandoned, it
// closes all open files and rejects further opens and changes, so that goroutines of a
// failed store cannot interfere with the next opening. It takes no locks, because the
// parent directory is locked.
type trackedFS struct {
	vfs.FS
	mu        sync.Mutex
	files     map[*trackedFile]struct{} // open files
	abandoned bool
}

func (t *trackedFS) abandon() {
	t.mu.Lock()
	t.abandoned = true
	files := t.files
	t.files = nil
	t.mu.Unlock()
	for file := range files {
		file.closeOnce()
	}
}

// change calls do unless the file system is abandoned.
func (t *trackedFS) change(do func() error) error {
	t.mu.Lock()
	abandoned := t.abandoned
	t.mu.Unlock()
	if abandoned {
		return errAbandoned
	}
	return do()
}

// track opens a file and registers it.
func (t *trackedFS) track(open func() (vfs.File, error)) (vfs.File, error) {
	var file vfs.File
	err := t.change(func() (err error) { file, err = open(); return err })
	if err != nil {
		return nil, err
	}
	tracked := &trackedFile{File: file, fs: t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.abandoned {
		return nil, errors.Join(errAbandoned, file.Close())
	}
	if t.files == nil {
		t.files = make(map[*trackedFile]struct{})
	}
	t.files[tracked] = struct{}{}
	return tracked, nil
}

// Create creates a file. A Pebble marker is a file with a name that contains the name of
// another file. Pebble creates that file, then the marker, then syncs the directory once;
// a power failure in between may leave the marker without the file. So Create syncs the
// directory before it creates a marker.
func (t *trackedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(t.PathBase(name), "marker.") {
		if err := syncDir(t, t.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return t.track(func() (vfs.File, error) { return t.FS.Create(name, category) })
}

func (t *trackedFS) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	return t.track(func() (vfs.File, error) { return t.FS.Open(name, options...) })
}

func (t *trackedFS) OpenReadWrite(name string, category vfs.DiskWriteCategory,
	options ...vfs.OpenOption) (vfs.File, error) {
	return t.track(func() (vfs.File, error) { return t.FS.OpenReadWrite(name, category, options...) })
}

func (t *trackedFS) OpenDir(name string) (vfs.File, error) {
	return t.track(func() (vfs.File, error) { return t.FS.OpenDir(name) })
}

func (t *trackedFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	return t.track(func() (vfs.File, error) { return t.FS.ReuseForWrite(from, to, category) })
}

func (t *trackedFS) Link(from, to string) error {
	return t.change(func() error { return t.FS.Link(from, to) })
}

func (t *trackedFS) Rename(from, to string) error {
	return t.change(func() error { return t.FS.Rename(from, to) })
}

func (t *trackedFS) Remove(name string) error {
	return t.change(func() error { return t.FS.Remove(name) })
}

func (t *trackedFS) MkdirAll(name string, mode os.FileMode) error {
	return t.change(func() error { return t.FS.MkdirAll(name, mode) })
}

func (t *trackedFS) RemoveAll(name string) error {
	return t.change(func() error { return t.FS.RemoveAll(name) })
}

// Lock takes no lock.
func (t *trackedFS) Lock(string) (io.Closer, error) { return noLock{}, nil }

// Unwrap returns the wrapped file system.
func (t *trackedFS) Unwrap() vfs.FS { return t.FS }

type noLock struct{}

func (noLock) Close() error { return nil }

// A trackedFile can be closed more than once.
type trackedFile struct {
	vfs.File
	fs     *trackedFS
	once   sync.Once
	result error
}

func (f *trackedFile) closeOnce() error {
	f.once.Do(func() { f.result = f.File.Close() })
	return f.result
}

// Close closes and unregisters the file.
func (f *trackedFile) Close() error {
	f.fs.mu.Lock()
	delete(f.fs.files, f)
	f.fs.mu.Unlock()
	return f.closeOnce()
}
