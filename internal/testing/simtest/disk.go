package simtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// A Disk is a process's view of a machine's disk. It can fail, hang and fill up, and be
// crashed.
type Disk struct {
	Fault *Fault
	FS    vfs.FS // with faults
	files *linkedFS
	boots int // of the machine
}

// NewDisk returns an empty disk that works.
func NewDisk() *Disk { return diskOf(vfs.NewCrashableMem(), 0) }

func diskOf(mem *vfs.MemFS, boots int) *Disk {
	files, fault := &linkedFS{MemFS: mem}, newFault()
	return &Disk{Fault: fault, FS: errorfs.Wrap(files, fault), files: files, boots: boots}
}

// Boot returns the id of the machine's current boot.
func (d *Disk) Boot() string { return fmt.Sprint("boot ", d.boots) }

// Crashed returns the disk, without faults, as the next process finds it, with that
// percentage of the unsynced data: 100 if only the process ended. Later writes of the old
// process do not affect it.
func (d *Disk) Crashed(percent int, rng *rand.Rand) *Disk {
	d.files.mu.Lock()
	defer d.files.mu.Unlock()
	files := d.files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent,
		RNG: rand.New(rand.NewPCG(rng.Uint64(), 7))})
	boots := d.boots
	if percent < 100 {
		boots++
	}
	return diskOf(files, boots)
}

// A linkedFS can be cloned while files are linked: Pebble v2.1.7 takes a lock that
// CrashClone waits for twice in a Link.
type linkedFS struct {
	*vfs.MemFS
	mu sync.Mutex
}

func (l *linkedFS) Link(from, to string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.MemFS.Link(from, to)
}

// A Fault decides the result of each access to a disk. Concurrency: any goroutine may use
// it.
type Fault struct {
	mu      sync.Mutex
	change  sync.Cond
	hanging bool
	err     error // of writes
	left    int   // writes that succeed before err
	failed  int   // number of failed writes
	before  int   // writes before call
	call    func()
}

func newFault() *Fault {
	f := &Fault{}
	f.change.L = &f.mu
	return f
}

// FailWrites makes writes fail after some more; nil ends that.
func (f *Fault) FailWrites(after int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.err = after, err
}

// SetHang makes all accesses block, or releases them.
func (f *Fault) SetHang(hang bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hanging = hang
	f.change.Broadcast()
}

// CallBefore calls f once, before the write that follows some more writes; nil ends that.
func (f *Fault) CallBefore(writes int, call func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before, f.call = writes, call
}

// Failed returns the number of failed writes.
func (f *Fault) Failed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// Access is to be called before each access. It blocks while the disk hangs, and returns
// the error of the access.
func (f *Fault) Access(write bool) error {
	if write {
		f.callOnce()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.hanging {
		f.change.Wait()
	}
	switch {
	case !write || f.err == nil:
		return nil
	case f.left > 0:
		f.left--
		return nil
	}
	f.failed++
	return f.err
}

// callOnce makes the call of CallBefore if it is due.
func (f *Fault) callOnce() {
	f.mu.Lock()
	call := f.call
	switch {
	case call == nil:
	case f.before > 0:
		f.before--
		call = nil
	default:
		f.call = nil
	}
	f.mu.Unlock()
	if call != nil {
		call()
	}
}

// MaybeError implements errorfs.Injector. A full disk does not prevent closing or removing
// files.
func (f *Fault) MaybeError(op errorfs.Op) error {
	full := errors.Is(f.now(), syscall.ENOSPC)
	switch op.Kind {
	case errorfs.OpFileClose:
		return nil
	case errorfs.OpRemove, errorfs.OpRemoveAll, errorfs.OpLock:
		return f.Access(!full)
	}
	return f.Access(op.Kind.ReadOrWrite() == errorfs.OpIsWrite)
}

func (f *Fault) now() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// String implements errorfs.Injector.
func (f *Fault) String() string { return "simulated disk" }
