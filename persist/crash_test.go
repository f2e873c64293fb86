package persist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/internal/testing/testwait"
)

// A crasher runs a log in memory and, before each change of the file system, examines the
// files that a power failure or the end of the process would leave at that point.
type crasher struct {
	t      *testing.T
	seed   uint64
	policy Policy
	mem    *vfs.MemFS
	log    atomic.Pointer[Log] // nil until the first is open
	acked  atomic.Uint64       // index of the last entry that Append has returned for
	mu     sync.Mutex          // guards the rest: raft-wal replaces segments concurrently
	random *rand.Rand
	points int
}

// MaybeError implements errorfs.Injector.
func (c *crasher) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.points++
	var durable, acked uint64 // read before the copy, acked first, because they grow meanwhile
	if l := c.log.Load(); l != nil {
		acked = c.acked.Load()
		durable = l.Synced()
	}
	if c.policy == Always && durable < acked {
		c.t.Errorf("seed %d: entry %d was acknowledged, but Synced is %d", c.seed, acked, durable)
	}
	for _, percent := range []int{0, 1 + c.random.IntN(99), 100} {
		copied := c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.random})
		least := durable
		if percent == 100 {
			least = acked // the process ended, the machine did not
		}
		c.reopen(copied, percent == 100, least,
			fmt.Sprintf("seed %d, %v, %d %% kept, before %v of %s", c.seed, c.policy, percent, op.Kind, op.Path))
	}
	return nil
}

// String implements errorfs.Injector.
func (c *crasher) String() string { return "crasher" }

// reopen opens the files left by a crash of the process or of the machine, checks that at
// least the entries up to least are there, appends further entries, and checks after
// another crash that exactly those entries are there.
func (c *crasher) reopen(fs *vfs.MemFS, same bool, least uint64, when string) {
	other := func(index uint64) []byte { return append([]byte("other "), payload(index)...) }
	o := LogOptions{Policy: c.policy, SegmentBytes: minSegmentBytes, SameBoot: same}
	if err := checkedLog(fs, "/log", same); err != nil && !isMissing(err) {
		c.t.Errorf("%s: check: %v", when, err)
	}
	l, err := OpenLog(fs, "/log", o)
	if err != nil {
		c.t.Errorf("%s: %v", when, err)
		return
	}
	cut := l.Last()
	if d := l.Dropped(); cut < least || same && d != nil {
		c.t.Errorf("%s: %d entries, and dropped %v; want %d", when, cut, d, least)
	}
	o.SameBoot = true
	for range 3 {
		if _, err := l.Append(other(l.Last() + 1)); err != nil {
			c.t.Errorf("%s: append: %v", when, err)
		}
	}
	// The process ends again, perhaps while it replaces the segment.
	fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: c.random})
	if err := l.Close(); err != nil {
		c.t.Errorf("%s: close: %v", when, err)
	}
	l, err = OpenLog(fs, "/log", o)
	if err != nil {
		c.t.Errorf("%s: again: %v", when, err)
		return
	}
	if l.Last() != cut+3 {
		c.t.Errorf("%s: %d entries, want %d and 3 more", when, l.Last(), cut)
	}
	err = l.Read(l.First(), func(index uint64, data []byte) error {
		want := payload(index)
		if index > cut {
			want = other(index)
		}
		if !reflect.DeepEqual(data, want) {
			return fmt.Errorf("entry %d is %q, want %q", index, data, want)
		}
		return nil
	})
	if err = errors.Join(err, l.Close()); err != nil {
		c.t.Errorf("%s: %v", when, err)
	}
}

// TestCrash crashes a log at every change of the file system.
func TestCrash(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond, Never} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			points := 0
			for range 2 {
				points += crashEverywhere(t, policy)
			}
			if points < 150 {
				t.Errorf("%d crash points, want at least 150", points)
			}
			t.Logf("%d crash points with three outcomes each", points)
		})
	}
}

// crashEverywhere appends to, syncs, drops from, closes and opens a log, and crashes it
// at every change of the file system.
func crashEverywhere(t *testing.T, policy Policy) (points int) {
	seed := testwait.Seed(t)
	c := &crasher{t: t, seed: seed, policy: policy, mem: vfs.NewCrashableMem(), random: rand.New(rand.NewPCG(seed, 0))}
	fs := errorfs.Wrap(c.mem, c)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 2 {
		l := openLog(t, fs, "/log", LogOptions{Policy: policy, syncEvery: 1 << 40})
		c.log.Store(l)
		for range 24 {
			mustAppend(t, l, payload(l.Last()+1))
			c.acked.Store(l.Last())
			switch r.IntN(8) {
			case 0:
				if err := l.Sync(); err != nil {
					t.Fatal(err)
				}
			case 1:
				if l.Last() > 10 {
					if err := l.DropBefore(l.Last() - 10); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		closeLog(t, l)
	}
	return c.points
}

// TestCrashDuringAppends copies the files at arbitrary moments while a log with larger segments
// is appended to and synced.
func TestCrashDuringAppends(t *testing.T) {
	for _, policy := range []Policy{Always, EverySecond, Never} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			seed := testwait.Seed(t)
			c := &crasher{t: t, seed: seed, policy: policy, mem: vfs.NewCrashableMem(), random: rand.New(rand.NewPCG(seed, 0))}
			l := openLog(t, c.mem, "/log", LogOptions{Policy: policy, syncEvery: 1e6, SegmentBytes: 64 << 10})
			c.log.Store(l)
			more, ended := make(chan struct{}, 40), make(chan struct{})
			go func() {
				defer close(ended)
				for range more {
					if _, err := l.Append(payload(l.Last() + 1)); err != nil {
						t.Error(err)
						continue
					}
					c.acked.Store(l.Last())
				}
			}()
			for range 15 {
				for len(more) < cap(more) { // keeps the log busy while the files are copied
					more <- struct{}{}
				}
				_ = c.MaybeError(errorfs.Op{Kind: errorfs.OpFileWrite, Path: "anything"})
			}
			close(more)
			<-ended
			closeLog(t, l)
		})
	}
}

// TestOpenSyncs kills the process, opens the log, and then crashes the machine: all
// entries found at the opening must be on disk.
func TestOpenSyncs(t *testing.T) {
	mem := vfs.NewCrashableMem()
	l := openLog(t, mem, "/log", LogOptions{Policy: Never})
	for range 5 {
		mustAppend(t, l, payload(l.Last()+1))
	}
	if got, err := outcome(t, mem.CrashClone(vfs.CrashCloneCfg{}), "before"); err != nil || got != 0 {
		t.Errorf("%d entries after a power failure before any sync, %v; want 0", got, err)
	}
	again := openLog(t, mem, "/log", LogOptions{Policy: Never})
	if got, err := outcome(t, mem.CrashClone(vfs.CrashCloneCfg{}), "opened"); err != nil || got != 5 ||
		again.Synced() != 5 {
		t.Errorf("%d entries after a power failure with the log open, %v; want 5", got, err)
	}
	mustAppend(t, again, payload(6))
	closeLog(t, again)
	if got, err := outcome(t, mem.CrashClone(vfs.CrashCloneCfg{}), "closed"); err != nil || got != 6 {
		t.Errorf("%d entries after a power failure with the log closed, %v; want 6", got, err)
	}
}
