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

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A badDisk fails, or hangs, on request. A hanging disk accepts writes until a sync,
// because writes go to the page cache.
type badDisk struct {
	mu    sync.Mutex
	fault error
	only  map[errorfs.OpKind]bool // nil: all writes
	hung  chan struct{}           // nil: does not hang
	stuck atomic.Bool             // an operation hangs
}

// over returns a file system on the disk.
func (d *badDisk) over(fs vfs.FS) vfs.FS {
	return errorfs.Wrap(fs, errorfs.InjectorFunc(d.maybe))
}

func (d *badDisk) maybe(op errorfs.Op) error {
	d.mu.Lock()
	fault, hung := d.fault, d.hung
	concerned := op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileClose
	if d.only != nil {
		concerned = d.only[op.Kind]
	}
	d.mu.Unlock()
	if !concerned {
		return nil
	}
	if syncs := op.Kind != errorfs.OpFileWriteAt; hung != nil && (syncs || d.stuck.Load()) {
		d.stuck.Store(true)
		<-hung
	}
	return fault
}

func (d *badDisk) fail(err error, only ...errorfs.OpKind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.only = err, nil
	if len(only) > 0 {
		d.only = map[errorfs.OpKind]bool{}
		for _, k := range only {
			d.only[k] = true
		}
	}
}

func (d *badDisk) hang() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hung = make(chan struct{})
	d.stuck.Store(false)
}

func (d *badDisk) heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault, d.only = nil, nil
	if d.hung != nil {
		close(d.hung)
	}
	d.hung = nil
}

// patience is the limit for an event on an idle machine.
const patience = 30 * time.Second

// eventually waits for an event.
func eventually(t *testing.T, event string, happens func() bool) {
	t.Helper()
	testwait.Until(t, patience, event, happens)
}

// A diskFault is a way for a disk to fail.
type diskFault struct {
	name string
	hang bool
	err  error
	only []errorfs.OpKind
	// certain: a rejected decision is known not to be on disk.
	certain bool
}

func (f *diskFault) inject(d *badDisk) {
	if f.hang {
		d.hang()
		return
	}
	d.fail(f.err, f.only...)
}

var faults = []diskFault{
	{name: "is full", err: syscall.ENOSPC, certain: true},
	{name: "fails to write", err: syscall.EIO},
	{name: "fails to sync", err: syscall.EIO, only: []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData}},
	{name: "is full during a sync", err: syscall.ENOSPC,
		only: []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData}},
	{name: "creates no files", err: syscall.ENOSPC, only: []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFilePreallocate},
		certain: true},
	{name: "hangs", hang: true},
}

// TestAlwaysRejectsWhenTheDisk checks that every decision is on disk, rejected batches
// are not applied, and the Store recovers with the disk.
func TestAlwaysRejectsWhenTheDisk(t *testing.T) {
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var (
				disk   badDisk
				o      = testOptions(t, disk.over(vfs.NewMem()), Always)
				rng    = rand.New(rand.NewPCG(7, 7))
				counts = newCounters()
			)
			o.HangAfter = 300 * time.Millisecond
			s := start(t, o)
			takeSome(t, s, counts, rng, 100)
			tt.inject(&disk)
			var err error
			eventually(t, "a rejected batch", func() bool { err = counts.take(s, rng, 50); return err != nil })
			wantCode(t, err, tt.certain)
			for range 5 {
				wantCode(t, counts.take(s, rng, 50), true)
			}
			if s.Status().Failed == nil {
				t.Error("the status shows no failure")
			}
			checkCounts(t, s, counts.copy(), true)
			disk.heal()
			eventually(t, "the log is reopened", func() bool { return s.Status().Failed == nil })
			takeSome(t, s, counts, rng, 100)
			checkCounts(t, s, counts.copy(), true)
			end(t, s, false)
			s = start(t, o)
			checkCounts(t, s, counts.copy(), true)
			end(t, s, true)
		})
	}
}

func takeSome(t *testing.T, s *Store, counts *counterKeys, rng *rand.Rand, n int) {
	t.Helper()
	for range n {
		if err := counts.take(s, rng, 50); err != nil {
			t.Fatal(err)
		}
	}
}

// wantCode checks the error of a rejected batch or, unless certain, of a batch with an
// unknown outcome.
func wantCode(t *testing.T, err error, certain bool) {
	t.Helper()
	var coded interface{ Code() string }
	if !errors.As(err, &coded) {
		t.Fatalf("got %v, want an error with a code", err)
	}
	if code := coded.Code(); code != "MISCONF" && (certain || code != "UNCERTAIN") {
		t.Errorf("got %s %v", code, err)
	}
}

// TestOthersContinueWhenTheDisk checks that without fsync=always a failing disk stops no
// decision, is reported, and that all decisions are on disk when it works again.
func TestOthersContinueWhenTheDisk(t *testing.T) {
	for _, policy := range []Policy{EverySecond, Never} {
		for _, tt := range faults {
			if policy == Never && (len(tt.only) > 0 || tt.hang) {
				continue // there is no sync, and no new file soon
			}
			t.Run(fmt.Sprintf("%s, under %v", tt.name, policy), func(t *testing.T) {
				t.Parallel()
				var (
					disk   badDisk
					o      = testOptions(t, disk.over(vfs.NewMem()), policy)
					rng    = rand.New(rand.NewPCG(8, 8))
					counts = newCounters()
				)
				o.HangAfter = 300 * time.Millisecond
				s := start(t, o)
				takeSome(t, s, counts, rng, 100)
				tt.inject(&disk)
				eventually(t, "the failure is detected", func() bool {
					takeSome(t, s, counts, rng, 1)
					return s.Status().Failed != nil
				})
				takeSome(t, s, counts, rng, 100)
				disk.heal()
				eventually(t, "the log is reopened", func() bool { return s.Status().Failed == nil })
				takeSome(t, s, counts, rng, 100)
				end(t, s, false)
				s = start(t, o)
				checkCounts(t, s, counts.copy(), true)
				end(t, s, true)
			})
		}
	}
}

// TestHangBlocksNoRead checks that reads and sweeps continue while the disk hangs, and
// that a snapshot is rejected.
func TestHangBlocksNoRead(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			var (
				disk   badDisk
				o      = testOptions(t, disk.over(vfs.NewMem()), policy)
				counts = newCounters()
				rng    = rand.New(rand.NewPCG(9, 9))
			)
			o.HangAfter = 100 * time.Millisecond
			s := start(t, o)
			takeSome(t, s, counts, rng, 10)
			disk.hang()
			eventually(t, "the failure is detected", func() bool { counts.take(s, rng, 50); return s.Status().Failed != nil })
			checkCounts(t, s, counts.copy(), policy == Always)
			s.Sweep(10)
			if err := s.Save(func(Info, error) { t.Error("a snapshot was taken") }); err == nil {
				t.Error("a snapshot was started")
			}
			b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("key:1")}}}
			if err := perform(s, &b); err != nil {
				t.Error(err)
			}
			disk.heal()
			eventually(t, "the log is reopened", func() bool { return s.Status().Failed == nil })
			end(t, s, true)
		})
	}
}

// TestTimeWaitsForTheDisk checks that a group is applied at its stamp, regardless of
// reads while it was written.
func TestTimeWaitsForTheDisk(t *testing.T) {
	var (
		disk  badDisk
		o     = testOptions(t, disk.over(vfs.NewMem()), Always)
		clock = o.Clock.(*testClock)
		key   = []byte("bucket")
		p     = engine.Params{Alg: engine.Token, Limit: 10, Count: 1, Period: int64(time.Second)}
		take  = func(n int64) *engine.Batch {
			return &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Key: key, Params: p, N: n}}}
		}
		peek = func(s *Store) engine.Decision {
			b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: key}}}
			if err := perform(s, &b); err != nil {
				t.Fatal(err)
			}
			return b.Decisions[0]
		}
	)
	s := start(t, o)
	if err := perform(s, take(5)); err != nil {
		t.Fatal(err)
	}
	disk.hang()
	answer := make(chan error, 1)
	s.Exec(take(6), func(err error) { answer <- err }) // granted only a second later
	s.Commit()
	eventually(t, "the append is under way", func() bool { _, running := s.appending.Running(); return running })
	clock.add(3 * time.Second)
	peek(s)
	s.Sweep(16)
	disk.heal()
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	want := peek(s)
	end(t, s, false)
	s = start(t, o)
	defer end(t, s, false)
	if got := peek(s); got != want {
		t.Errorf("after a restart the bucket is %+v, want %+v", got, want)
	}
}
