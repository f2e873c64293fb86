package persist

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// testDir is the data directory of tests.
const testDir = "data"

// A testClock moves only by add.
type testClock struct{ now atomic.Int64 }

func newTestClock() *testClock {
	c := &testClock{}
	c.now.Store(1_700_000_000 * int64(time.Second))
	return c
}

func (c *testClock) Now() engine.Instant { return engine.Instant(c.now.Load()) }

func (c *testClock) add(d time.Duration) { c.now.Add(int64(d)) }

// storeLog collects the log of a Store, and prints it if the test fails.
func storeLog(t *testing.T) *slog.Logger {
	var b testwait.Log
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("log:\n" + b.String())
		}
	})
	return b.Logger()
}

// testOptions returns options for a small Store with small files.
func testOptions(t *testing.T, fs vfs.FS, policy Policy) Options {
	return Options{
		Dir: testDir, FS: fs, Policy: policy, Clock: newTestClock(), Logger: storeLog(t),
		SegmentBytes: 64 << 10, RetryEvery: 10 * time.Millisecond, HangAfter: testwait.Scaled(5 * time.Second),
	}
}

// start opens a Store and recovers.
func start(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

// end closes a Store.
func end(t *testing.T, s *Store, save bool) {
	t.Helper()
	parting := SaveNever
	if save {
		parting = SaveAlways
	}
	if err := s.Close(context.Background(), parting); err != nil {
		t.Fatal(err)
	}
}

// perform executes a batch like the server: Exec, Commit, then the answer.
func perform(s *Store, batch *engine.Batch) error {
	answer := make(chan error, 1)
	s.Exec(batch, func(err error) { answer <- err })
	s.Commit()
	return <-answer
}

// counterOf holds the parameters of a key that never refills.
var counterOf = engine.Params{Alg: engine.Fixed, Limit: engine.MaxLimit, Period: engine.MaxPeriod}

// counterKeys counts the permits taken from keys.
type counterKeys struct {
	mu    sync.Mutex
	acked map[string]int64
}

func newCounters() *counterKeys { return &counterKeys{acked: map[string]int64{}} }

func (c *counterKeys) copy() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := make(map[string]int64, len(c.acked))
	for k, n := range c.acked {
		m[k] = n
	}
	return m
}

// take takes permits from random keys in a batch and records the acknowledged permits.
func (c *counterKeys) take(s *Store, rng *rand.Rand, keys int) error {
	var b engine.Batch
	for range 1 + rng.IntN(8) {
		b.Ops = append(b.Ops, engine.Op{
			Kind: engine.Take, Params: counterOf, N: 1 + rng.Int64N(3),
			Key: fmt.Appendf(nil, "key:%d", rng.IntN(keys)),
		})
	}
	if err := perform(s, &b); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range b.Ops {
		if b.Decisions[i].Allowed != 1 {
			return fmt.Errorf("a counter denied: %+v", b.Decisions[i])
		}
		c.acked[string(b.Ops[i].Key)] += b.Ops[i].N
	}
	return nil
}

// used returns the permits that a Store has counted for a key.
func used(s *Store, key string) int64 {
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte(key)}}}
	if err := perform(s, &b); err != nil {
		panic(err)
	}
	if b.Decisions[0].Status == engine.Missing {
		return 0
	}
	return b.Decisions[0].Params.Limit - b.Decisions[0].Remaining
}

// checkCounts fails unless a Store has counted at least acked, and exactly acked if exact
// is set.
func checkCounts(t *testing.T, s *Store, acked map[string]int64, exact bool) {
	t.Helper()
	for key, want := range acked {
		got := used(s, key)
		if got < want || exact && got != want {
			t.Errorf("%s has counted %d, want %d", key, got, want)
		}
	}
}

var allPolicies = []Policy{Always, EverySecond, Never}

func TestRestartKeepsState(t *testing.T) {
	for _, policy := range allPolicies {
		for _, save := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v save=%v", policy, save), func(t *testing.T) {
				o := testOptions(t, vfs.NewMem(), policy)
				rng, counts := rand.New(rand.NewPCG(1, 2)), newCounters()
				for range 4 {
					s := start(t, o)
					checkCounts(t, s, counts.copy(), true)
					for range 300 {
						if err := counts.take(s, rng, 50); err != nil {
							t.Fatal(err)
						}
					}
					end(t, s, save)
				}
				s := start(t, o)
				defer end(t, s, false)
				checkCounts(t, s, counts.copy(), true)
				if st := s.Engine().Stats(); st.Allowed != (engine.Stats{}).Allowed || st.Denied != (engine.Stats{}).Denied {
					t.Errorf("the status counts decisions before the start: %+v", st)
				}
				if saved := s.Status().Saved; save == saved.At.IsZero() {
					t.Errorf("last snapshot %+v, want one: %v", saved, save)
				}
			})
		}
	}
}

// TestReplayDecidesTheSame executes random traffic of all algorithms with restarts, and
// the same traffic at the same times on an engine in memory.
func TestReplayDecidesTheSame(t *testing.T) {
	testwait.Long(t)
	for _, policy := range []Policy{Always, EverySecond} {
		t.Run(policy.String(), func(t *testing.T) {
			seed := testwait.Seed(t)
			rng := rand.New(rand.NewPCG(seed, 1))
			o := testOptions(t, vfs.NewMem(), policy)
			clock := o.Clock.(*testClock)
			var model *engine.Engine
			s := start(t, o)
			for step := range 3000 {
				if model == nil {
					o := o.Engine
					o.Seed = s.dir.Seed
					model = engine.New(o)
				}
				var b, c engine.Batch
				b.Ops = randomOps(rng)
				c.Ops = b.Ops
				if err := perform(s, &b); err != nil {
					t.Fatal(err)
				}
				model.Apply(clock.Now(), &c)
				for i := range b.Ops {
					if b.Decisions[i] != c.Decisions[i] {
						t.Fatalf("seed %d step %d: the decision of %+v is %+v, want %+v", seed, step, b.Ops[i], b.Decisions[i],
							c.Decisions[i])
					}
				}
				clock.add(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
				switch rng.IntN(100) {
				case 0:
					end(t, s, rng.IntN(2) == 0)
					s = start(t, o)
				case 1:
					if _, err := s.saveAndWait(context.Background()); err != nil {
						t.Fatal(err)
					}
				case 2:
					s.Sweep(4)
				}
			}
			end(t, s, false)
		})
	}
}

// randomOps returns a batch of all kinds of ops over few keys.
func randomOps(rng *rand.Rand) []engine.Op {
	params := [...]engine.Params{
		{Alg: engine.Token, Limit: 5, Count: 1, Period: int64(time.Second) / 2},
		{Alg: engine.Leaky, Limit: 4, Count: 3, Period: int64(time.Second)},
		{Alg: engine.Fixed, Limit: 6, Period: int64(2 * time.Second)},
		{Alg: engine.Slide, Limit: 7, Period: int64(3 * time.Second)},
		{Alg: engine.Log, Limit: 8, Period: int64(time.Second)},
		{Alg: engine.Lease, Limit: 3, Period: int64(2 * time.Second)},
	}
	var ops []engine.Op
	for range 1 + rng.IntN(6) {
		p := params[rng.IntN(len(params))]
		op := engine.Op{Key: fmt.Appendf(nil, "%v:%d", p.Alg, rng.IntN(20)), N: rng.Int64N(3)}
		if rng.IntN(20) == 0 {
			p.Limit++
		}
		switch k := rng.IntN(40); {
		case k == 0 && p.Alg != engine.Lease:
			op.Kind = engine.Refund
		case k == 1 && p.Alg != engine.Lease:
			op.Kind = engine.Charge
		case k == 2:
			op.Kind = engine.Forget
		case k == 3:
			op.Kind = engine.Peek
		case k == 4 && rng.IntN(20) == 0:
			op = engine.Op{Kind: engine.Flush}
		case p.Alg == engine.Lease:
			op.Kind, op.Params, op.N, op.ID = engine.Acquire, p, 1, fmt.Appendf(nil, "id%d", rng.IntN(6))
			if rng.IntN(3) == 0 {
				op.Kind, op.Params, op.N = engine.Release, engine.Params{}, 0
			}
		default:
			op.Kind, op.Params = engine.Take, p
		}
		ops = append(ops, op)
	}
	return ops
}

// TestWatchedTransaction executes transactions with Expects, in groups and alone: if its
// Expects hold, a transaction is applied and survives; otherwise it is not applied.
func TestWatchedTransaction(t *testing.T) {
	for _, policy := range allPolicies {
		t.Run(policy.String(), func(t *testing.T) {
			o := testOptions(t, vfs.NewMem(), policy)
			s := start(t, o)
			var (
				wait    sync.WaitGroup
				granted atomic.Int64
				key     = []byte("watched")
				log     = engine.Params{Alg: engine.Log, Limit: 1_000_000, Period: engine.MaxPeriod}
			)
			for range 8 {
				wait.Go(func() {
					for range 100 {
						seen := s.Engine().Fingerprint(s.o.Clock.Now(), 0, key)
						b := &engine.Batch{Atomic: true, Ops: []engine.Op{
							{Kind: engine.Expect, Key: key, N: seen},
							{Kind: engine.Take, Key: key, Params: log, N: 1},
						}}
						if err := perform(s, b); err != nil {
							t.Error(err)
						}
						switch b.Decisions[1].Status {
						case engine.OK:
							granted.Add(1)
						case engine.Aborted:
						default:
							t.Errorf("got %+v", b.Decisions)
						}
					}
				})
			}
			wait.Wait()
			if n := granted.Load(); n == 0 || used(s, string(key)) != n {
				t.Errorf("%d transactions were applied, but %d are counted", n, used(s, string(key)))
			}
			end(t, s, false)
			s = start(t, o)
			defer end(t, s, false)
			if n := granted.Load(); used(s, string(key)) != n {
				t.Errorf("%d transactions were applied, but %d are counted after a restart", n, used(s, string(key)))
			}
		})
	}
}

// TestEvictedStaysEvicted fills a Store that evicts, and checks that a replay leaves the
// same keys.
func TestEvictedStaysEvicted(t *testing.T) {
	testwait.Long(t)
	for _, policy := range allPolicies {
		t.Run(policy.String(), func(t *testing.T) {
			o := testOptions(t, vfs.NewMem(), policy)
			o.Engine = engine.Options{Shards: 1, MaxMemory: 300 << 10, Evict: true}
			s := start(t, o)
			bucket := engine.Params{Alg: engine.Token, Limit: 10, Count: 1, Period: 3600 * int64(time.Second)}
			for i := range 20_000 {
				b := &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Key: fmt.Appendf(nil, "key:%d", i), Params: bucket,
					N: 1 + int64(i)%9}}}
				if err := perform(s, b); err != nil {
					t.Fatal(err)
				}
			}
			want := keysOf(s)
			if len(want) > 15_000 {
				t.Fatalf("no key of %d was evicted", len(want))
			}
			// writes the last evictions as well
			perform(s, &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte(want[0])}}})
			end(t, s, false)
			s = start(t, o)
			defer end(t, s, false)
			if got := keysOf(s); !slices.Equal(got, want[1:]) {
				t.Errorf("%d keys after a restart, want the %d before it", len(got), len(want)-1)
			}
		})
	}
}

// keysOf returns the keys of a Store, in order.
func keysOf(s *Store) (keys []string) {
	for cursor := uint64(0); ; {
		cursor = s.Engine().Scan(s.o.Clock.Now(), 0, cursor, 1000,
			func(key []byte, _ engine.Alg) { keys = append(keys, string(key)) })
		if cursor == 0 {
			slices.Sort(keys)
			return keys
		}
	}
}

// TestLowerBoundDropsNothing checks that keys granted before a restart stay, even if they
// exceed a bound that is lower now.
func TestLowerBoundDropsNothing(t *testing.T) {
	for _, save := range []bool{false, true} {
		o := testOptions(t, vfs.NewMem(), EverySecond)
		rng, counts := rand.New(rand.NewPCG(5, 5)), newCounters()
		s := start(t, o)
		for range 4000 {
			if err := counts.take(s, rng, 10_000); err != nil {
				t.Fatal(err)
			}
		}
		end(t, s, save)
		o.Engine.MaxMemory = 64 << 10
		s = start(t, o)
		checkCounts(t, s, counts.copy(), true)
		b := engine.Batch{Ops: []engine.Op{{Kind: engine.Take, Params: counterOf, N: 1, Key: make([]byte, 1000)}}}
		if err := perform(s, &b); err != nil || b.Decisions[0].Status != engine.NoMemory {
			t.Errorf("save=%v: a new key beyond the bound: decision %+v, %v", save, b.Decisions[0], err)
		}
		end(t, s, false)
	}
}

// TestTailsAreBounded adds entries to LOG keys, which exist, until they are refused.
func TestTailsAreBounded(t *testing.T) {
	log := engine.Params{Alg: engine.Log, Limit: engine.MaxListed, Period: engine.MaxPeriod}
	for _, policy := range []Policy{Always, EverySecond} {
		t.Run(policy.String(), func(t *testing.T) {
			o := testOptions(t, vfs.NewMem(), policy)
			o.Engine.MaxMemory = 1 << 20
			s := start(t, o)
			defer end(t, s, false)
			var takes engine.Batch
			for i := range 1000 {
				takes.Ops = append(takes.Ops, engine.Op{Kind: engine.Take, Key: fmt.Appendf(nil, "log:%d", i), Params: log, N: 1})
			}
			for n := 1; ; n++ {
				o.Clock.(*testClock).add(time.Microsecond)
				if err := perform(s, &takes); err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(takes.Decisions, func(d engine.Decision) bool { return d.Status == engine.NoMemory }) {
					break
				}
				if used := s.Engine().MemoryBytes(); used > s.bound.Backstop() || n == 5000 {
					t.Fatalf("%d bytes are used for %d entries of each key, %d are allowed", used, n, s.bound.Backstop())
				}
			}
			if got := s.Engine().Len(); got != 1000 {
				t.Errorf("%d keys of 1000 are left", got)
			}
		})
	}
}

// TestRecoverCancelled checks that a Store cancelled while it loads leaves its files
// unchanged.
func TestRecoverCancelled(t *testing.T) {
	o := testOptions(t, vfs.NewMem(), EverySecond)
	rng, counts := rand.New(rand.NewPCG(6, 6)), newCounters()
	s := start(t, o)
	for range 500 {
		if err := counts.take(s, rng, 50); err != nil {
			t.Fatal(err)
		}
	}
	end(t, s, false)
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Recover(&endsAfter{context.Background(), 250}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Recover returns %v", err)
	}
	end(t, s, true)
	s = start(t, o)
	defer end(t, s, false)
	checkCounts(t, s, counts.copy(), true)
}

// endsAfter is a context that is done after some calls of Err.
type endsAfter struct {
	context.Context
	looks int
}

func (c *endsAfter) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}
