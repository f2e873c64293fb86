package persist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/internal/testing/testwait"
)

// failAt fails the change of a file system with number at, and counts later syncs of the
// same file.
type failAt struct {
	at      int
	err     error
	mu      sync.Mutex
	seen    int
	path    string // of the change that failed
	kind    errorfs.OpKind
	resyncs int
}

// MaybeError implements errorfs.Injector.
func (f *failAt) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	isSync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
	if f.seen > f.at && isSync && op.Path == f.path && f.kind == op.Kind {
		f.resyncs++
	}
	if f.seen != f.at {
		return nil
	}
	f.path, f.kind = op.Path, op.Kind
	return f.err
}

// String implements errorfs.Injector.
func (f *failAt) String() string { return fmt.Sprintf("failure of change %d", f.at) }

// TestLogFaults fails each change of the file system in turn. The log must then be broken
// for good, must not repeat a failed sync, and must keep the entries that are on disk.
func TestLogFaults(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond} {
		for at := 1; ; at++ {
			mem := vfs.NewCrashableMem()
			f := &failAt{at: at, err: syscall.ENOSPC}
			durable, broken := runUntilBroken(t, errorfs.Wrap(mem, f), policy)
			if f.seen < at {
				if at < 50 {
					t.Errorf("%v: only %d changes", policy, at)
				}
				break
			}
			what := fmt.Sprintf("%v: failure of change %d, %v of %s", policy, at, f.kind, f.path)
			if f.resyncs > 0 {
				t.Errorf("%s: synced %d times after the failure", what, f.resyncs)
			}
			if !errors.Is(broken, syscall.ENOSPC) && f.kind != errorfs.OpRemove && f.kind != errorfs.OpFileClose {
				t.Errorf("%s: the log broke with %v", what, broken)
			}
			copied := mem.CrashClone(vfs.CrashCloneCfg{})
			got, err := outcome(t, copied, what)
			if err != nil || got < durable {
				t.Errorf("%s: %d entries, %v; want %d", what, got, err, durable)
			}
		}
	}
}

// runUntilBroken appends, syncs and drops until the log is broken or has 40 entries. It
// returns the last entry that must be on disk.
func runUntilBroken(t *testing.T, fs vfs.FS, policy Policy) (durable uint64, broken error) {
	t.Helper()
	var reported atomic.Int32
	l, err := OpenLog(fs, "/log", LogOptions{
		Policy: policy, SegmentBytes: minSegmentBytes, syncEvery: 1 << 40, OnError: func(error) { reported.Add(1) },
	})
	if err != nil {
		return 0, err
	}
	for l.Last() < 40 && err == nil {
		last := l.Last()
		if _, err = l.Append(payload(last + 1)); err == nil && last%5 == 0 {
			err = l.Sync()
		}
		if err == nil && last == 30 {
			err = l.DropBefore(20)
		}
	}
	eventually(t, "no change of segment is under way", func() bool { return !l.Busy() })
	if err == nil {
		err = l.Err() // of a concurrent change
	}
	if err != nil {
		last := l.Last()
		for _, again := range []error{l.Err(), l.Sync(), l.DropBefore(99), second(l.Append(nil))} {
			if again != err {
				t.Errorf("the log broke with %v and then returns %v", err, again)
			}
		}
		if l.Last() != last || l.Busy() {
			t.Errorf("a broken log has %d entries, busy %v; want %d, idle", l.Last(), l.Busy(), last)
		}
		if err := l.Read(l.First(), func(uint64, []byte) error { return nil }); err != nil {
			t.Errorf("read of a broken log: %v", err)
		}
	}
	durable = l.Synced()
	if closed := l.Close(); err == nil {
		err = closed
	}
	if got := reported.Load(); (err != nil) != (got == 1) {
		t.Errorf("%d calls of OnError, and the log broke with %v", got, err)
	}
	return durable, err
}

// tornFS, once armed, writes half of the data of a WriteAt and then fails.
type tornFS struct {
	vfs.FS
	armed atomic.Bool
}

func (fs *tornFS) OpenReadWrite(name string, category vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.OpenReadWrite(name, category, o...)
	return &tornFile{f, fs}, err
}

type tornFile struct {
	vfs.File
	fs *tornFS
}

func (f *tornFile) WriteAt(p []byte, offset int64) (int, error) {
	if !f.fs.armed.Load() {
		return f.File.WriteAt(p, offset)
	}
	n, err := f.File.WriteAt(p[:len(p)/2], offset)
	return n, errors.Join(err, syscall.ENOSPC)
}

// TestLogTornWrite runs out of space in the middle of an entry.
func TestLogTornWrite(t *testing.T) {
	fs := &tornFS{FS: vfs.NewMem()}
	l := openLog(t, fs, "/log", LogOptions{})
	for range 5 {
		mustAppend(t, l, payload(l.Last()+1))
	}
	fs.armed.Store(true)
	if _, err := l.Append(make([]byte, 1000)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("append to a full disk: %v, want ENOSPC", err)
	}
	fs.armed.Store(false)
	if _, err := l.Append(nil); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("second append: %v, want ENOSPC", err)
	}
	checkEntries(t, l, 1, 5)
	closeLog(t, l)
	l = openLog(t, fs, "/log", LogOptions{})
	checkEntries(t, l, 1, 5)
	closeLog(t, l)
}

// TestLogFullAtCreation runs out of space when space for a segment is reserved.
func TestLogFullAtCreation(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want error
	}{
		{"no space", syscall.ENOSPC, syscall.ENOSPC},
		{"a file system without preallocation", syscall.EOPNOTSUPP, nil},
	} {
		fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpFilePreallocate {
				return tt.err
			}
			return nil
		}))
		l, err := OpenLog(fs, "/log", LogOptions{})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		if err == nil {
			closeLog(t, l)
		}
	}
}

func TestLogTooLarge(t *testing.T) {
	l := openLog(t, vfs.NewMem(), "/log", LogOptions{})
	defer closeLog(t, l)
	if _, err := l.Append(make([]byte, maxEntryBytes+1)); err == nil || l.Err() != nil || l.Last() != 0 {
		t.Errorf("got %v, broken by %v, %d entries; want an error and a usable log without entries", err, l.Err(), l.Last())
	}
	mustAppend(t, l, payload(1))
	checkEntries(t, l, 1, 1)
}

func TestDropBefore(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	fileSystems(t, func(t *testing.T, fs vfs.FS, root string) {
		dir := fs.PathJoin(root, "log")
		l := openLog(t, fs, dir, LogOptions{First: 3})
		segments := func() (bases []uint64) {
			for _, g := range l.meta.current().Segments {
				bases = append(bases, g.BaseIndex)
			}
			return bases
		}
		for range 60 {
			for range r.IntN(20) {
				mustAppend(t, l, payload(l.Last()+1))
			}
			first, bytes, before := l.First(), l.Bytes(), l.First()+uint64(r.IntN(int(l.Last()-l.First())+5))
			want := first
			for _, base := range segments() {
				if base <= before && base > want {
					want = base
				}
			}
			if err := l.DropBefore(before); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if l.First() > before && l.First() != first {
				t.Errorf("seed %d: dropped before %d: the first is %d", seed, before, l.First())
			}
			// A concurrent change of segment may have created a later segment.
			if l.First() < want || segments()[0] != l.First() {
				t.Errorf("seed %d: dropped before %d: the first is %d, want %d, segments %d", seed, before, l.First(), want,
					segments())
			}
			if l.First() > first && l.Bytes() >= bytes {
				t.Errorf("seed %d: dropped %d to %d: %d bytes as before", seed, first, l.First()-1, bytes)
			}
			checkEntries(t, l, l.First(), l.Last())
			if r.IntN(4) == 0 {
				first, last := l.First(), l.Last()
				closeLog(t, l)
				bytes := int64(0)
				names, _ := fs.List(dir)
				for _, name := range names {
					if _, _, ok := parseSegmentName(name); ok {
						info, _ := fs.Stat(fs.PathJoin(dir, name))
						bytes += info.Size()
					}
				}
				l = openLog(t, fs, dir, LogOptions{})
				checkEntries(t, l, first, last)
				if l.Bytes() != bytes {
					t.Errorf("seed %d: Bytes is %d, the files have %d", seed, l.Bytes(), bytes)
				}
			}
		}
		closeLog(t, l)
	})
}

// An opBlocker blocks the next operation of one kind once it is armed.
type opBlocker struct {
	kind    errorfs.OpKind
	err     error // the error of the blocked operation
	armed   atomic.Bool
	blocked chan struct{}
	release chan struct{}
}

// MaybeError implements errorfs.Injector.
func (g *opBlocker) MaybeError(op errorfs.Op) error {
	if op.Kind == g.kind && g.armed.CompareAndSwap(true, false) {
		g.blocked <- struct{}{}
		<-g.release
		return g.err
	}
	return nil
}

// String implements errorfs.Injector.
func (g *opBlocker) String() string { return "gate" }

func newOpBlocker(kind errorfs.OpKind) *opBlocker {
	return &opBlocker{kind: kind, blocked: make(chan struct{}), release: make(chan struct{})}
}

func TestBusyWhileSyncing(t *testing.T) {
	g := newOpBlocker(errorfs.OpFileSyncData)
	l := openLog(t, errorfs.Wrap(vfs.NewMem(), g), "/log", LogOptions{syncEvery: 1 << 40})
	mustAppend(t, l, payload(1))
	g.armed.Store(true)
	synced := make(chan error)
	go func() { synced <- l.Sync() }()
	<-g.blocked
	if !l.Busy() {
		t.Error("idle while a sync hangs, want busy")
	}
	mustAppend(t, l, payload(2)) // in the page cache, this does not block
	close(g.release)
	if err := <-synced; err != nil || l.Synced() != 1 {
		t.Errorf("synced to %d, %v; want 1, because 2 came later", l.Synced(), err)
	}
	if l.Busy() {
		t.Error("busy after the sync, want idle")
	}
	closeLog(t, l)
}

func TestBusyWhileChanging(t *testing.T) {
	g := newOpBlocker(errorfs.OpCreate)
	l := openLog(t, errorfs.Wrap(vfs.NewMem(), g), "/log", LogOptions{Policy: Never})
	g.armed.Store(true)
	for !l.Busy() {
		mustAppend(t, l, payload(l.Last()+1))
	}
	<-g.blocked
	if !l.Busy() {
		t.Error("idle while the next segment is created, want busy")
	}
	appended := make(chan error)
	go func() {
		_, err := l.Append(payload(l.Last() + 1))
		appended <- err
	}()
	select {
	case err := <-appended:
		t.Errorf("append did not wait for the next segment: %v", err)
	case <-time.After(time.Millisecond):
	}
	close(g.release)
	if err := <-appended; err != nil || l.Busy() {
		t.Errorf("append: %v, busy %v; want idle", err, l.Busy())
	}
	checkEntries(t, l, 1, l.Last())
	closeLog(t, l)
}

// TestSyncFailsWhileChanging fails a sync that a change of segment waits for: META must
// not say then that the segment is full.
func TestSyncFailsWhileChanging(t *testing.T) {
	g := newOpBlocker(errorfs.OpFileSyncData)
	g.err = syscall.EIO
	mem := vfs.NewCrashableMem()
	l := openLog(t, errorfs.Wrap(mem, g), "/log", LogOptions{syncEvery: 1 << 40})
	mustAppend(t, l, payload(1))
	g.armed.Store(true)
	synced := make(chan error)
	go func() { synced <- l.Sync() }()
	<-g.blocked
	for !l.rotating.Load() {
		mustAppend(t, l, payload(l.Last()+1))
	}
	close(g.release)
	if err := <-synced; !errors.Is(err, syscall.EIO) {
		t.Errorf("sync: %v, want EIO", err)
	}
	if _, err := l.Append(nil); !errors.Is(err, syscall.EIO) { // blocks until the change is done
		t.Errorf("append: %v, want EIO", err)
	}
	closeLog(t, l)
	if got, err := outcome(t, mem.CrashClone(vfs.CrashCloneCfg{}), "after the crash"); err != nil || got != 0 {
		t.Errorf("after a power failure: %d entries, %v; want none", got, err)
	}
}
