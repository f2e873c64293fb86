package persist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/raft"

	"limitsrv/internal/testing/testwait"
)

// A raftCrasher runs a raft log in memory and, before each change of the file system,
// examines the files that a power failure or the end of the process would leave at that
// point.
type raftCrasher struct {
	t      *testing.T
	policy Policy
	seed   uint64
	mem    *vfs.MemFS
	log    atomic.Pointer[Log] // nil until the first is open

	mu            sync.Mutex // guards the rest: raft-wal replaces segments concurrently
	random        *rand.Rand
	before, after *raftModel // the step under way, or the last step
	step          raftStep
	points        int
}

// MaybeError implements errorfs.Injector.
func (c *raftCrasher) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.points++
	durable := uint64(0) // read before the copy
	if l := c.log.Load(); l != nil {
		durable = l.Synced()
	}
	for _, percent := range []int{0, 1 + c.random.IntN(99), 100} {
		copied := c.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: c.random})
		when := fmt.Sprintf("seed %d, %v, %d %% kept, %v, before %v of %s", c.seed, c.policy, percent, c.step, op.Kind,
			op.Path)
		whole := percent == 100 || c.policy == Always // no acknowledged entry is lost
		if err := c.reopen(copied, percent == 100, durable, whole); err != nil {
			c.t.Errorf("%s: %v", when, err)
		}
	}
	return nil
}

// String implements errorfs.Injector.
func (c *raftCrasher) String() string { return "raft crasher" }

// reopen opens the files left by a crash, returns an error if their contents are not
// allowed, and uses the log until the next crash.
func (c *raftCrasher) reopen(fs *vfs.MemFS, same bool, durable uint64, whole bool) error {
	if err := checkedLog(fs, "/log", same); err != nil && !isMissing(err) {
		return fmt.Errorf("check: %w", err)
	}
	o := LogOptions{Policy: c.policy, SegmentBytes: minSegmentBytes, syncEvery: 1 << 40, SameBoot: same}
	l, err := OpenLog(fs, "/log", o)
	if err != nil {
		return err
	}
	w, err := readRaft(l.Raft())
	if err == nil {
		err = c.isAllowed(w, durable, whole)
	}
	for i := uint64(0); err == nil && i < 4; i++ {
		s := drawRaftStep(c.random, w, 1000+i)
		if err = s.perform(l.Raft()); err != nil {
			err = fmt.Errorf("then %v: %w", s, err)
		}
		s.apply(w)
	}
	// The process ends again, perhaps while it replaces the segment.
	fs = fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: c.random})
	if err = errors.Join(err, l.Close()); err != nil {
		return err
	}
	o.SameBoot = true
	if l, err = OpenLog(fs, "/log", o); err != nil {
		return fmt.Errorf("again: %w", err)
	}
	again, err := readRaft(l.Raft())
	if err == nil {
		err = again.differs(w)
	}
	if err = errors.Join(err, l.Close()); err != nil {
		return fmt.Errorf("again: %w", err)
	}
	return nil
}

// isAllowed returns an error if got is neither the state before the step nor the state after
// it, nor, unless whole, a prefix of one of them with at least the durable entries.
func (c *raftCrasher) isAllowed(got *raftModel, durable uint64, whole bool) error {
	var errs error
	for _, want := range []*raftModel{c.before, c.after} {
		err := got.differs(want)
		if err != nil && !whole {
			err = got.isPrefix(want, durable)
		}
		if err == nil {
			return nil
		}
		errs = errors.Join(errs, err)
	}
	return errs
}

// isPrefix returns an error unless got is a prefix of want with at least the entries up to
// durable.
func (w *raftModel) isPrefix(want *raftModel, durable uint64) error {
	least := min(durable, want.last)
	switch {
	case want.empty() || w.empty() && least < want.first:
		return w.hasOnly(want)
	case w.empty() || w.first != want.first || w.last < least || w.last > want.last:
		return fmt.Errorf("it holds %d to %d, want %d to between %d and %d", w.first, w.last, want.first, least, want.last)
	}
	return w.hasOnly(want)
}

// TestRaftCrash crashes a raft log at every change of the file system.
func TestRaftCrash(t *testing.T) {
	testwait.Long(t)
	for _, policy := range []Policy{Always, EverySecond, Never} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			points := 0
			for range raftCrashRuns {
				points += raftCrashEverywhere(t, policy)
			}
			if points < 150 {
				t.Errorf("%d crash points, want at least 150", points)
			}
			t.Logf("%d crash points with three outcomes each", points)
		})
	}
}

// raftCrashRuns is the number of logs in TestRaftCrash.
const raftCrashRuns = 3

// raftCrashEverywhere changes a log like raft, syncs, closes and opens it, and crashes it
// at every change of the file system.
func raftCrashEverywhere(t *testing.T, policy Policy) (points int) {
	seed := testwait.Seed(t)
	c := &raftCrasher{
		t: t, policy: policy, seed: seed, mem: vfs.NewCrashableMem(), random: rand.New(rand.NewPCG(seed, 0)),
		before: newRaftModel(), after: newRaftModel(),
	}
	fs, r := errorfs.Wrap(c.mem, c), rand.New(rand.NewPCG(seed, 1))
	for range 2 {
		l := openLog(t, fs, "/log", LogOptions{Policy: policy, syncEvery: 1 << 40})
		c.log.Store(l)
		for range 30 {
			c.mu.Lock()
			s := drawRaftStep(r, c.after, uint64(c.points)+1)
			c.step, c.before, c.after = s, c.after, c.after.clone()
			s.apply(c.after)
			c.mu.Unlock()
			if err := s.perform(l.Raft()); err != nil {
				t.Fatalf("seed %d: %v: %v", seed, s, err)
			}
			c.mu.Lock()
			c.before = c.after
			c.mu.Unlock()
			if r.IntN(8) == 0 {
				if err := l.Sync(); err != nil {
					t.Fatal(err)
				}
			}
		}
		closeLog(t, l)
	}
	return c.points
}

// TestRaftSynced replaces an entry that was on disk, after a torn entry. The sync of the
// old entry must not count for the new entry.
func TestRaftSynced(t *testing.T) {
	for _, tt := range []struct {
		name     string
		from, to uint64 // deleted from 1 to 9
		next     uint64
	}{
		{"the end is replaced", 4, 9, 4},
		{"everything is replaced at lower indexes", 1, 9, 3},
		{"everything is replaced at higher indexes", 1, 9, 30},
	} {
		l := openLog(t, vfs.NewMem(), "/log", LogOptions{Policy: Never})
		r := l.Raft()
		for i := range uint64(9) {
			if err := r.StoreLog(&raft.Log{Index: i + 1, Term: 1}); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(l.Sync(), r.DeleteRange(tt.from, tt.to)); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(3) {
			if err := r.StoreLog(&raft.Log{Index: tt.next + i, Term: 2}); err != nil {
				t.Fatal(err)
			}
			if got := l.Synced(); got != tt.next-1 {
				t.Errorf("%s: synced to %d, want %d", tt.name, got, tt.next-1)
			}
		}
		err := walkAll(l, func(e *record) error {
			if e.index >= tt.next && e.Term == 2 && e.synced != tt.next-1 {
				t.Errorf("%s: entry %d records synced %d, want %d", tt.name, e.index, e.synced, tt.next-1)
			}
			return nil
		})
		if err = errors.Join(err, l.Sync()); err != nil || l.Synced() != tt.next+2 {
			t.Errorf("%s: synced to %d after Sync, %v; want %d", tt.name, l.Synced(), err, tt.next+2)
		}
		closeLog(t, l)
	}
}

// walkAll yields the records of all segments.
func walkAll(l *Log, yield func(*record) error) error {
	for _, g := range l.meta.current().Segments {
		if _, err := readSegment(l.fs, l.dir, g, l.codec, yield); err != nil {
			return err
		}
	}
	return nil
}
