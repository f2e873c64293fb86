package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// takes returns a batch of n takes of a permit from n random keys.
func takes(r *rand.Rand, n int) *Batch {
	b := &Batch{}
	for range n {
		p := Params{Alg: Token, Limit: 3, Count: 1, Period: 1e9}
		b.Ops = append(b.Ops, Op{Kind: Take, Params: p, N: 1, Key: fmt.Appendf(nil, "key %d", r.IntN(n))})
	}
	return b
}

// TestRunsDecideAlike compares the decisions of engines with several shards, which they enter
// together, with and without a prefetch, with the decisions of an engine with a single shard.
func TestRunsDecideAlike(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	single := New(Options{Shards: 1})
	several := []*Engine{New(Options{Shards: 2}), New(Options{Shards: 16}), New(Options{Shards: 64}),
		New(Options{Shards: 1}), New(Options{Shards: 16})}
	for _, e := range several[:3] {
		e.memory.used.Add(cachedBytes)
	}
	for step := range 300 {
		b, now := takes(r, 1+r.IntN(5*prefetchOps)), Instant(1e18+2e8*step)
		single.Apply(now, b)
		want := slices.Clone(b.Decisions)
		for _, e := range several {
			other := &Batch{Ops: b.Ops}
			e.Apply(now, other)
			if !slices.Equal(other.Decisions, want) {
				t.Fatalf("seed %d, step %d: with %d shards the answers to %d ops differ from those with one shard", seed, step,
					len(e.shards), len(b.Ops))
			}
		}
	}
}

// TestApplyWaitsWithNoShardLocked locks each shard in turn: a batch that waits for it keeps no
// other shard locked.
func TestApplyWaitsWithNoShardLocked(t *testing.T) {
	e := New(Options{Shards: 8})
	b := takes(rand.New(rand.NewPCG(1, 2)), 2*prefetchOps)
	for held := range e.shards {
		s := &e.shards[held]
		s.mu.Lock()
		done := make(chan struct{})
		go func() {
			e.Apply(1e18, b)
			close(done)
		}()
		testwait.Until(t, 10*time.Second, "Apply waits", func() bool { return s.waiting.Load() == 1 })
		for i := range e.shards {
			if i == held {
				continue
			}
			if !e.shards[i].mu.TryLock() {
				t.Errorf("shard %d is locked while Apply waits for shard %d", i, held)
				continue
			}
			e.shards[i].mu.Unlock()
		}
		s.mu.Unlock()
		<-done
	}
}

// TestLongOpsAlone: the shard of a call that may be long is locked alone.
func TestLongOpsAlone(t *testing.T) {
	e := New(Options{Shards: 4})
	b := &Batch{Ops: make([]Op, 6), Calls: []Call{{Timed: true}, {}, {Timed: true, Light: true}}}
	b.Ops[3] = Op{Kind: Do, N: 0}
	b.Ops[4] = Op{Kind: Do, N: 2}
	b.Ops[5] = Op{Kind: Do, N: 1}
	b.scratch.shards = []uint16{0, 0, 1, 1, 2, 3}
	var got []int
	for order := []int32{0, 1, 2, 3, 4, 5}; len(order) > 0; {
		runs, n := e.lockRuns(1e18, b, order)
		for _, r := range runs {
			r.s.unlock()
		}
		got, order = append(got, len(runs)), order[n:]
	}
	if want := []int{1, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("%v shards are locked together, want %v", got, want)
	}
}

// pairs has calls on two keys. It notes the shards that were entered for each call.
type pairs struct{ entered *[]shardSet }

func (pairs) Check(*Call) error { return nil }

func (pairs) Level() uint8 { return 1 }

func (pairs) Keys(_ *Call, dst []int) (keys []int, all bool) { return append(dst, 0, 1), false }

func (p pairs) Do(tx *Tx, c *Call) {
	for _, key := range c.Args {
		e, _ := tx.Find(key)
		tx.PutInt(e, 1, 0)
	}
	*p.entered = append(*p.entered, *tx.entered)
}

// TestCallsTogether: consecutive calls on several shards enter theirs together, maxTogether at
// once, and an op of another kind ends them.
func TestCallsTogether(t *testing.T) {
	var entered []shardSet
	e := New(Options{Shards: 16, Commands: pairs{&entered}})
	b, keys := &Batch{}, make(map[uint16][]byte)
	for i := 0; len(keys) < 16; i++ {
		key := fmt.Appendf(nil, "key %d", i)
		shard, _ := e.locate(0, key)
		keys[shard] = key
	}
	add := func(first, second uint16) {
		c := b.AddCall(0)
		c.Args = append(c.Args, keys[first], keys[second])
	}
	const before, behind = maxTogether + 2, 3
	for i := range uint16(before) {
		add(i%4, i%4+4)
	}
	b.Ops = append(b.Ops, Op{Kind: Take, Params: Params{Alg: Fixed, Limit: 9, Period: 1e9}, N: 1, Key: keys[0]})
	for range behind {
		add(8, 9)
	}
	e.Apply(1e18, b)
	for i, want := range slices.Concat(slices.Repeat([]int{8}, maxTogether), []int{4, 4},
		slices.Repeat([]int{2}, behind)) {
		got := 0
		for range entered[i].each {
			got++
		}
		if got != want {
			t.Errorf("call %d of %d entered %d shards, want %d", i, len(entered), got, want)
		}
	}
	if len(entered) != before+behind || e.Stats().Keys != 10 {
		t.Errorf("%d calls left %d keys, want %d and 10", len(entered), e.Stats().Keys, before+behind)
	}
}
