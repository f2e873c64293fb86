package persist

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/internal/testing/testwait"
)

// crashes is the number of crashes in TestStoreCrash under each policy.
const crashes = 25

// TestStoreCrash kills a Store repeatedly under load from four goroutines, during
// snapshots and changes of segment, and starts another on its files: on all that it wrote
// (the process was killed), or on all that it synced and a part of the rest (the power
// failed).
func TestStoreCrash(t *testing.T) {
	testwait.Long(t)
	for _, policy := range allPolicies {
		for _, unsynced := range []int{100, 50, 0} {
			t.Run(fmt.Sprintf("%v unsynced=%d%%", policy, unsynced), func(t *testing.T) {
				t.Parallel()
				seed := testwait.Seed(t)
				t.Logf("seed %d", seed)
				crashing(t, policy, unsynced, rand.New(rand.NewPCG(seed, 3)))
			})
		}
	}
}

func crashing(t *testing.T, policy Policy, unsynced int, rng *rand.Rand) {
	fs, counts := &clonedFS{MemFS: vfs.NewCrashableMem()}, newCounters()
	o, boots := testOptions(t, fs, policy), 0
	o.boot = func() string { return fmt.Sprint("boot ", boots) }
	safe := map[string]int64{} // must not be lost
	for range crashes {
		s := start(t, o)
		checkCounts(t, s, safe, false)
		counts.acked = map[string]int64{}
		for key := range safe {
			counts.acked[key] = used(s, key)
		}
		stop := load(t, s, counts, rng.Uint64())
		if rng.IntN(2) == 0 {
			s.Save(func(Info, error) {})
		}
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		switch {
		case unsynced == 100 || policy == Always:
			safe = counts.copy() // acknowledged before the crash
		default:
			safe = counts.copy()
			if err := s.log.Load().Sync(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
		}
		fs = fs.crashed(vfs.CrashCloneCfg{UnsyncedDataPercent: unsynced, RNG: rand.New(rand.NewPCG(rng.Uint64(), 5))})
		if unsynced < 100 {
			boots++
		}
		stop()
		s.Close(context.Background(), SaveNever)
		o.FS = fs
	}
	s := start(t, o)
	checkCounts(t, s, safe, false)
	end(t, s, true)
}

// A clonedFS can be cloned while files are linked. Pebble v2.1.7 otherwise deadlocks: its
// Link takes a lock twice, and CrashClone waits for the lock in between.
type clonedFS struct {
	*vfs.MemFS
	mu sync.Mutex
}

func (c *clonedFS) Link(from, to string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.MemFS.Link(from, to)
}

func (c *clonedFS) crashed(cfg vfs.CrashCloneCfg) *clonedFS {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &clonedFS{MemFS: c.CrashClone(cfg)}
}

// load starts goroutines that take permits until stop is called.
func load(t *testing.T, s *Store, counts *counterKeys, seed uint64) (stop func()) {
	var wait sync.WaitGroup
	done := make(chan struct{})
	for i := range 4 {
		wait.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := counts.take(s, rng, 100); err != nil {
					t.Errorf("take: %v", err)
					return
				}
			}
		})
	}
	return func() {
		close(done)
		wait.Wait()
	}
}
