package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/internal/testing/testwait"
)

const racers = 64

// race runs racers goroutines that share an engine and a clock, which advances a nanosecond
// at each reading, while other goroutines sweep, scan and read.
func race(e *engine.Engine, run func(g int, r *rand.Rand, now func() engine.Instant)) {
	var clock atomic.Int64
	clock.Store(int64(instant("2025-06-15T12:34:56Z")))
	now := func() engine.Instant { return engine.Instant(clock.Add(1)) }
	var runners, readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			look := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("key 0")},
				{Kind: engine.Watch, Key: []byte("key 1")}}}
			for cursor := uint64(0); ; {
				select {
				case <-done:
					return
				default:
				}
				e.Sweep(now(), 2)
				cursor = e.Scan(now(), 0, cursor, 10, func(key []byte, _ engine.Alg) { _ = string(key) })
				e.Fingerprint(now(), 0, []byte("key 0"))
				e.KeyBytes(now(), 0, []byte("key 0"))
				_, _ = e.Len(), e.Stats()
				_, _ = e.Top(now(), engine.TopHot, topk.Hour, 10), e.ShardStats(nil)
				e.Look(now(), &look)
				e.Victims(now(), 100)
				e.Export(now(), 0, []byte("key 0"), nil)
				e.Digest(now())
			}
		})
	}
	for g := range racers {
		runners.Go(func() { run(g, rand.New(rand.NewPCG(uint64(g), 3)), now) })
	}
	runners.Wait()
	close(done)
	readers.Wait()
}

// counter returns parameters that earn back practically no permit.
func counter(a engine.Alg, limit int64) engine.Params {
	p := engine.Params{Alg: a, Limit: limit, Period: engine.MaxPeriod}
	if a.Usage().Period == engine.Rate {
		p.Count = 1
	}
	return p
}

// one returns an op for a permit, or for a lease of the holder id.
func one(p engine.Params, key []byte, id string) engine.Op {
	if p.Alg == engine.Lease {
		return engine.Op{Kind: engine.Acquire, Key: key, Params: p, N: 1, ID: []byte(id)}
	}
	return engine.Op{Kind: engine.Take, Key: key, Params: p, N: 1}
}

// TestRaceLimits requests more than the limit of a key and of many, concurrently: exactly
// the limit is granted.
func TestRaceLimits(t *testing.T) {
	for _, a := range algs() {
		for _, keys := range []int{1, 61} {
			t.Run(fmt.Sprint(a, "/", keys), func(t *testing.T) {
				p := counter(a, int64(1800/keys))
				granted := make([]atomic.Int64, keys)
				e := engine.New(engine.Options{})
				race(e, func(g int, r *rand.Rand, now func() engine.Instant) {
					var b engine.Batch
					for i := 0; i < 60; {
						b.Reset()
						var of []int
						for range 1 + r.IntN(8) {
							key := (g + i*racers) % keys
							of = append(of, key)
							b.Ops = append(b.Ops, one(p, fmt.Append(nil, "key ", key), fmt.Sprint(g, i)))
							i++
						}
						b.Atomic = r.IntN(4) == 0
						e.Apply(now(), &b)
						for j, d := range b.Decisions {
							granted[of[j]].Add(d.Allowed)
						}
					}
				})
				for i := range granted {
					if got := granted[i].Load(); got != p.Limit {
						t.Errorf("key %d: granted %d, limit is %d", i, got, p.Limit)
					}
				}
			})
		}
	}
}

// TestRacePartial requests the permits of one key in parts, concurrently: their sum is
// the limit.
func TestRacePartial(t *testing.T) {
	for _, a := range counted() {
		p := counter(a, 5000)
		var granted atomic.Int64
		e := engine.New(engine.Options{Shards: 1})
		race(e, func(_ int, r *rand.Rand, now func() engine.Instant) {
			for range 60 {
				n := 1 + r.Int64N(7)
				d := apply(e, now(), engine.Op{Kind: engine.Take, Mode: engine.Partial, Key: []byte("key 0"), Params: p, N: n})[0]
				granted.Add(d.Allowed)
			}
		})
		if granted.Load() != p.Limit {
			t.Errorf("%v: granted %d, limit is %d", a, granted.Load(), p.Limit)
		}
	}
}

// TestRaceGroups takes groups over keys of several shards concurrently, some denied:
// every key has lost the permits of the groups that passed, and two keys taken only by
// groups, in equal numbers, never differ.
func TestRaceGroups(t *testing.T) {
	const keys = 9
	p := make([]engine.Params, keys)
	for i := range p {
		p[i] = counter(counted()[i%len(counted())], 3000)
	}
	p[0], p[1] = counter(engine.Token, engine.MaxLimit), counter(engine.Fixed, engine.MaxLimit)
	var taken [keys]atomic.Int64
	var passed, denied, differ atomic.Int64
	e := engine.New(engine.Options{})
	race(e, func(g int, r *rand.Rand, now func() engine.Instant) {
		for range 60 {
			var asked [keys]int64
			asked[0] = 1 + r.Int64N(5)
			asked[1] = asked[0]
			for range r.IntN(4) {
				asked[2+r.IntN(keys-2)] = 1 + r.Int64N(30)
			}
			var ops []engine.Op
			for _, i := range r.Perm(keys) {
				if asked[i] > 0 {
					ops = append(ops, engine.Op{Kind: engine.Take, Key: fmt.Append(nil, "key ", i), Params: p[i], N: asked[i]})
				}
			}
			ops[0].Group = uint8(len(ops))
			all := true
			for _, d := range apply(e, now(), ops...) {
				all = all && d.Status == engine.OK && d.Allowed == 1
			}
			if !all {
				denied.Add(1)
			} else {
				passed.Add(1)
				for i := range taken {
					taken[i].Add(asked[i])
				}
			}
			look := engine.Batch{Atomic: true,
				Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("key 0")}, {Kind: engine.Peek, Key: []byte("key 1")}}}
			e.Apply(now(), &look)
			if look.Decisions[0].Remaining != look.Decisions[1].Remaining {
				differ.Add(1)
			}
		}
	})
	if passed.Load() == 0 || denied.Load() == 0 {
		t.Errorf("%d groups passed and %d were denied, want some of both", passed.Load(), denied.Load())
	}
	if differ.Load() > 0 {
		t.Errorf("a group was partly visible %d times", differ.Load())
	}
	for i := range keys {
		d := apply(e, instant("2025-06-15T12:35:00Z"), engine.Op{Kind: engine.Peek, Key: fmt.Append(nil, "key ", i)})[0]
		if got := p[i].Limit - d.Remaining; got != taken[i].Load() {
			t.Errorf("key %d: %d used, want %d, the permits of groups that passed", i, got, taken[i].Load())
		}
	}
}

// TestRaceSnapshot reads snapshots while four goroutines take pairs of permits, a permit of
// each key, both or none: a snapshot has equal numbers taken of both.
func TestRaceSnapshot(t *testing.T) {
	const pairs = 2000
	p := counter(engine.Token, engine.MaxLimit)
	e := engine.New(engine.Options{Shards: 8})
	key := func(i, side int) []byte { return fmt.Append(nil, "pair ", i, side) }
	var writers sync.WaitGroup
	stop := make(chan struct{})
	for g := range uint64(4) {
		writers.Go(func() {
			r, b := rand.New(rand.NewPCG(g, 8)), engine.Batch{}
			for now := engine.Instant(1e18); ; now++ {
				select {
				case <-stop:
					return
				default:
				}
				b.Reset()
				for range 1 + r.IntN(4) {
					i, n := r.IntN(pairs), 1+r.Int64N(3)
					b.Ops = append(b.Ops,
						engine.Op{Kind: engine.Take, Group: 2, Key: key(i, 0), Params: p, N: n},
						engine.Op{Kind: engine.Take, Key: key(i, 1), Params: p, N: n})
				}
				e.Apply(now, &b)
				if r.IntN(100) == 0 {
					e.Sweep(now, 10)
				}
			}
		})
	}
	for e.Len() < 2*pairs*9/10 {
	}
	for range 12 / min(testwait.Slowdown(), 3) {
		n := e.Freeze()
		into := engine.New(engine.Options{Shards: 8})
		var readers sync.WaitGroup
		for g := range 2 {
			readers.Go(func() {
				for shard := g; shard < n.Shards(); shard += 2 {
					for ok := true; ok; {
						var block []byte
						if block, _, ok = n.Next(shard, nil); !ok {
							break
						}
						if err := into.Load(block); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		readers.Wait()
		n.Close()
		into.SetTime(n.Now())
		if into.Len() != n.Keys() || n.Keys() < pairs {
			t.Errorf("loaded %d keys, snapshot says %d", into.Len(), n.Keys())
		}
		for i := range pairs {
			a := apply(into, 0, engine.Op{Kind: engine.Peek, Key: key(i, 0)})[0]
			b := apply(into, 0, engine.Op{Kind: engine.Peek, Key: key(i, 1)})[0]
			if a.Remaining != b.Remaining || a.Status != b.Status {
				t.Fatalf("pair %d has %d and %d left in a snapshot", i, a.Remaining, b.Remaining)
			}
		}
	}
	close(stop)
	writers.Wait()
}
