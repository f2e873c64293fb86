package persist

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/internal/testing/testwait"
)

// A fault fails an operation on files, and optionally all later operations.
type fault struct {
	at   int64 // number of the first operation that fails
	lone bool  // fail only that operation
	only []errorfs.OpKind
	err  error
	seen atomic.Int64
}

func (f *fault) String() string { return "fault" }

// MaybeError is called for each operation.
func (f *fault) MaybeError(op errorfs.Op) error {
	if f.only != nil && !slices.Contains(f.only, op.Kind) {
		return nil
	}
	if n := f.seen.Add(1) - 1; n == f.at || n > f.at && !f.lone {
		return f.err
	}
	return nil
}

// struck reports whether an operation has failed.
func (f *fault) struck() bool { return f.seen.Load() > f.at }

// Operations that need space on a disk.
var roomOps = []errorfs.OpKind{
	errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFilePreallocate, errorfs.OpLink, errorfs.OpRename, errorfs.OpMkdirAll,
}

// Each operation of a Write fails.
func TestSnapshotsFaults(t *testing.T) {
	testwait.Long(t)
	t.Parallel()
	a, b := newState(1, 600, 1), newState(2, 700, 1)
	base := diskWith(t, "/snapshots", a)
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, tt := range []struct {
		name string
		lone bool
		only []errorfs.OpKind
		err  error
	}{
		{"one operation fails", true, nil, syscall.EIO},
		{"all fail from one on", false, nil, syscall.EIO},
		{"the disk is full from one on", false, roomOps, syscall.ENOSPC},
		{"a sync fails", true, []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo},
			syscall.EIO},
	} {
		failures := 0
		for n := int64(0); ; n++ {
			disk := base.CrashClone(vfs.CrashCloneCfg{})
			f := &fault{at: n, lone: tt.lone, only: tt.only, err: tt.err}
			s := openTest(t, disk, "/snapshots")
			s.fs = errorfs.Wrap(disk, f)
			_, err := s.Write(context.Background(), b.source(), metaOf(1), nil)
			s.fs = disk
			if !f.struck() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			switch {
			case err == nil && holds(s, b, 1) != nil:
				t.Fatalf("%s, at %d: Write() = nil, but %v", tt.name, n, holds(s, b, 1))
			case err != nil && !errors.Is(err, tt.err):
				t.Errorf("%s, at %d: Write() = %v, want %v", tt.name, n, err, tt.err)
			case err != nil:
				failures++
			}
			s.Close()
			if random.IntN(3) == 0 {
				crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
				if _, err := afterCrash(crashed, a, b); err != nil {
					t.Fatalf("seed %d, %s, at %d, then a power failure: %v", seed, tt.name, n, err)
				}
			}
			if _, err := afterCrash(disk, a, b); err != nil {
				t.Fatalf("%s, at %d: %v", tt.name, n, err)
			}
			// The next Write must sync all its data, even after failed syncs.
			if err := holds(openTest(t, disk.CrashClone(vfs.CrashCloneCfg{}), "/snapshots"), afterCrashState(), 99); err != nil {
				t.Fatalf("%s, at %d, then a power failure: %v", tt.name, n, err)
			}
		}
		if failures < 10 {
			t.Errorf("%s: only %d failures", tt.name, failures)
		}
		t.Logf("%s: %d failures", tt.name, failures)
	}
}

// Each operation of a Load fails: that is an error but not damage, and the next Load
// succeeds.
func TestSnapshotsReadFaults(t *testing.T) {
	a := newState(1, 600, 1)
	disk := diskWith(t, "/snapshots", a)
	s := openTest(t, disk, "/snapshots")
	info, _, err := s.Latest()
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(0); ; n++ {
		f := &fault{at: n, lone: true, err: syscall.EIO}
		s.fs = errorfs.Wrap(disk, f)
		sink := &fakeSink{}
		err := s.Load(context.Background(), info, sink, 1, nil)
		s.fs = disk
		if !f.struck() {
			if err != nil || n < 10 {
				t.Fatalf("after %d faults: %v", n, err)
			}
			break
		}
		var corrupt *CorruptError
		if err == nil && !sink.equals(a.loaded()) || errors.As(err, &corrupt) {
			t.Errorf("at %d: Load() = %v", n, err)
		}
		if err := holds(s, a, 0); err != nil {
			t.Fatalf("after a fault at %d: %v", n, err)
		}
	}
}
