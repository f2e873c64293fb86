package engine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A replica is an engine that applies only the content of a log: the ops that changed the
// state. It has no bound itself.
type replica struct {
	e     *engine.Engine
	batch engine.Batch
	from  []int // for each op of batch, its index in the original
}

// follow applies the changes of b, decided at now, and returns an error if a decision
// differs.
func (r *replica) follow(now engine.Instant, b *engine.Batch) error {
	r.batch.Reset()
	r.from = r.from[:0]
	for i := range b.Ops {
		if b.Decisions[i].Changed {
			r.batch.Ops = append(r.batch.Ops, b.Ops[i])
			r.from = append(r.from, i)
		}
	}
	r.e.Apply(now, &r.batch)
	for j, i := range r.from {
		if r.batch.Decisions[j] != b.Decisions[i] {
			return fmt.Errorf("op %d\n got %+v\nwant %+v", i, r.batch.Decisions[j], b.Decisions[i])
		}
	}
	return nil
}

// evict applies the evictions that a bound requests before a batch, and returns them.
func evict(e *engine.Engine, bound engine.Bound, now engine.Instant, b *engine.Batch) *engine.Batch {
	evictions := &engine.Batch{Ops: bound.Room(e, now, now, b).Victims}
	e.Apply(now, evictions)
	return evictions
}

// TestReplayEvictions fills an engine beyond its bound with recurring keys, a few at a
// time, and compares it with its replica.
func TestReplayEvictions(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 9))
		e := engine.New(engine.Options{Shards: 4})
		re := &replica{e: engine.New(engine.Options{})}
		now, b := instant("2025-06-15T12:34:56Z"), engine.Batch{}
		for range 4000 / testwait.Slowdown() {
			b.Reset()
			for range 1 + r.IntN(12) {
				p := counter(algs()[r.IntN(2)*int(engine.Log)], 20)
				key := fmt.Appendf(nil, "%v key %d", p.Alg, r.IntN(4000))
				b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Params: p, N: 1 + r.Int64N(8), Key: key})
			}
			if n := len(b.Ops); n > 4 && r.IntN(4) == 0 {
				b.Ops[n-4].Group = 4
			}
			b.Atomic = r.IntN(4) == 0
			now += engine.Instant(r.IntN(1e9))
			if err := re.follow(now, evict(e, engine.Bound{MaxBytes: 96 << 10, Evict: true}, now, &b)); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			e.Apply(now, &b)
			if err := re.follow(now, &b); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		if e.Stats().Evicted == 0 {
			t.Fatalf("seed %d: no key was evicted", seed)
		}
		want, got := scanAll(t, e, now, 100), scanAll(t, re.e, now, 100)
		if len(got) != len(want) {
			t.Errorf("seed %d: replica has %d live keys, want %d", seed, len(got), len(want))
		}
		for key := range want {
			peek := engine.Op{Kind: engine.Peek, Key: []byte(key)}
			if got, want := apply(re.e, now, peek)[0], apply(e, now, peek)[0]; got != want {
				t.Fatalf("seed %d: %q\n got %+v\nwant %+v", seed, key, got, want)
			}
		}
	}
}

// TestChanged checks which ops need a log entry.
func TestChanged(t *testing.T) {
	var (
		at         = instant("2025-06-15T12:34:56Z")
		p          = engine.Params{Alg: engine.Fixed, Limit: 3, Period: second}
		wider      = engine.Params{Alg: engine.Fixed, Limit: 4, Period: second}
		other      = engine.Params{Alg: engine.Token, Limit: 3, Count: 1, Period: second}
		lease      = engine.Params{Alg: engine.Lease, Limit: 1, Period: second}
		key, fresh = []byte("key"), []byte("fresh")
		take       = func(key []byte, p engine.Params, n int64) engine.Op {
			return engine.Op{Kind: engine.Take, Params: p, N: n, Key: key}
		}
		group = func(ops ...engine.Op) []engine.Op {
			ops[0].Group = uint8(len(ops))
			return ops
		}
		after = engine.Instant(2 * second)
	)
	for _, tt := range []struct {
		name string
		ops  []engine.Op
		at   engine.Instant // after the setup: two permits of key, a lease of "lease"
		want bool
	}{
		{"a take", group(take(key, p, 1)), 0, true},
		{"a take of a new key", group(take(fresh, p, 1)), 0, true},
		{"a denial", group(take(key, p, 2)), 0, false},
		{"a denial of a new key", group(take(fresh, p, 4)), 0, false},
		{"a denial with new parameters", group(take(key, wider, 3)), 0, true},
		{"a denial by another algorithm", group(take(key, other, 1)), 0, false},
		{"a read-only take", group(take(key, p, 0)), 0, false},
		{"a read-only take with new parameters", group(take(key, wider, 0)), 0, false},
		{"a peek", []engine.Op{{Kind: engine.Peek, Key: key}}, 0, false},
		{"a peek at an expired key", []engine.Op{{Kind: engine.Peek, Key: key}}, after, false},
		{"a refund", []engine.Op{{Kind: engine.Refund, N: 1, Key: key}}, 0, true},
		{"a refund of no permits", []engine.Op{{Kind: engine.Refund, Key: key}}, 0, false},
		{"a refund to an expired key", []engine.Op{{Kind: engine.Refund, N: 1, Key: key}}, after, false},
		{"a charge", []engine.Op{{Kind: engine.Charge, N: 1, Key: key}}, 0, true},
		{"a charge beyond two limits", []engine.Op{{Kind: engine.Charge, N: 5, Key: key}}, 0, false},
		{"a charge of no permits", []engine.Op{{Kind: engine.Charge, Key: key}}, 0, false},
		{"a forget", []engine.Op{{Kind: engine.Forget, Key: key}}, 0, true},
		{"a forget of a missing key", []engine.Op{{Kind: engine.Forget, Key: fresh}}, 0, false},
		{"a forget of an expired key", []engine.Op{{Kind: engine.Forget, Key: key}}, after, false},
		{"a renewal", []engine.Op{{Kind: engine.Acquire, Params: lease, N: 1, Key: []byte("lease"), ID: []byte("a")}}, 0,
			true},
		{"an acquire above the limit",
			[]engine.Op{{Kind: engine.Acquire, Params: lease, N: 1, Key: []byte("lease"), ID: []byte("b")}}, 0, false},
		{"a release", []engine.Op{{Kind: engine.Release, Key: []byte("lease"), ID: []byte("a")}}, 0, true},
		{"a release by another holder", []engine.Op{{Kind: engine.Release, Key: []byte("lease"), ID: []byte("b")}}, 0, false},
		{"a flush", []engine.Op{{Kind: engine.Flush}}, 0, true},
		{"a group", group(take(key, p, 0), take(fresh, other, 1)), 0, true},
		{"a read-only group", group(take(key, p, 0), take(fresh, other, 0)), 0, false},
		{"a denied group", group(take(key, p, 2), take(fresh, other, 1)), 0, false},
		{"a denied group with new parameters", group(take(fresh, p, 4), take(key, wider, 1)), 0, true},
		{"a group with another algorithm", group(take(key, wider, 1), take(key, other, 1)), 0, false},
		{"an aborted batch", []engine.Op{{Kind: engine.Expect, Key: key}, take(key, p, 1)}, 0, false},
	} {
		e := engine.New(engine.Options{})
		apply(e, at, take(key, p, 2),
			engine.Op{Kind: engine.Acquire, Params: lease, N: 1, Key: []byte("lease"), ID: []byte("a")})
		b := engine.Batch{Ops: tt.ops, Atomic: true}
		e.Apply(at+tt.at, &b)
		for i, d := range b.Decisions {
			if d.Changed != tt.want {
				t.Errorf("%s: op %d: Changed is %t, want %t", tt.name, i, d.Changed, tt.want)
			}
		}
	}
}

// TestReadsChangeNothing reads an engine a year ahead: that neither advances its time nor
// forgets keys that will have expired.
func TestReadsChangeNothing(t *testing.T) {
	e := engine.New(engine.Options{})
	at, key := instant("2025-06-15T12:34:56Z"), []byte("key")
	p := engine.Params{Alg: engine.Fixed, Limit: 3, Period: second}
	apply(e, at, engine.Op{Kind: engine.Take, Params: p, N: 3, Key: key})
	before := apply(e, at, engine.Op{Kind: engine.Peek, Key: key})[0]
	later := at + engine.Instant(365*day)
	if n := len(scanAll(t, e, later, 10)); n != 0 || e.Fingerprint(later, 0, key) != 0 || e.KeyBytes(later, 0, key) != 0 {
		t.Errorf("a year later scan finds %d keys, fingerprint is %d", n, e.Fingerprint(later, 0, key))
	}
	if e.Now() != at || e.Len() != 1 {
		t.Errorf("after reads Now is %d and Len %d, want %d and 1", e.Now(), e.Len(), at)
	}
	if after := apply(e, at, engine.Op{Kind: engine.Peek, Key: key})[0]; after != before {
		t.Errorf("after reads\n got %+v\nwant %+v", after, before)
	}
	e.SetTime(later)
	if d := apply(e, at, engine.Op{Kind: engine.Peek, Key: key})[0]; d.Status != engine.Missing || e.Now() != later {
		t.Errorf("after SetTime Now is %d, want %d, and a peek finds %+v", e.Now(), later, d)
	}
}

// TestSetBound bounds an engine in use, and removes the bound.
func TestSetBound(t *testing.T) {
	e := engine.New(engine.Options{Shards: 1})
	at, n := instant("2025-06-15T12:34:56Z"), 0
	add := func() engine.Status {
		n++
		return apply(e, at, engine.Op{Kind: engine.Take, Params: counter(engine.Token, 3), N: 1,
			Key: fmt.Append(nil, "key ", n)})[0].Status
	}
	until := func(status engine.Status) {
		for range 1000 {
			if add() == status {
				return
			}
		}
		t.Fatalf("none of 1000 keys has status %d", status)
	}
	until(engine.OK)
	e.SetBound(engine.Bound{MaxBytes: e.Stats().MemoryBytes})
	until(engine.NoMemory)
	e.SetBound(engine.Bound{MaxBytes: e.Stats().MemoryBytes + 1000, Evict: true})
	until(engine.OK)
	if e.SetBound(engine.Bound{}); add() != engine.OK {
		t.Errorf("a key is rejected without a bound")
	}
}

// inBackground calls work on a goroutine of its own.
func inBackground(work func()) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	return func() { <-done }
}

// TestReplay replays traces of all kinds, with shards in any order, in parallel, and while
// further batches are queued, and compares the engine with an engine that applied each
// batch.
func TestReplay(t *testing.T) {
	for seed := range uint64(30 / testwait.Slowdown()) {
		tr := newTracer(seed)
		o := engine.Options{Shards: []int{1, 4, 16}[seed%3], Seed: [16]byte{5}}
		e, want := engine.New(o), engine.New(o)
		replay := e.NewReplay(func(n int, each func(int)) {
			var wait sync.WaitGroup
			for _, shard := range tr.r.Perm(n) {
				wait.Go(func() { each(shard) })
			}
			wait.Wait()
		})
		if seed%2 == 0 {
			replay.Ahead(inBackground)
		}
		for range 600 {
			b := tr.next()
			want.Apply(tr.now, b)
			c := engine.Batch{Ops: slices.Clone(b.Ops), Atomic: b.Atomic}
			for i := range c.Ops {
				c.Ops[i].Key, c.Ops[i].ID = bytes.Clone(c.Ops[i].Key), bytes.Clone(c.Ops[i].ID)
			}
			replay.Apply(tr.now, &c)
			for i := range c.Ops { // a decoder reuses its memory
				clear(c.Ops[i].Key)
				clear(c.Ops[i].ID)
			}
		}
		replay.Finish()
		sameAnswers(t, fmt.Sprintf("seed %d", seed), newTracer(seed), tr.now, e, want)
	}
}

// BenchmarkReplay measures a permit of a replay over a million keys, in batches of 16.
func BenchmarkReplay(b *testing.B) {
	const keys = 1_000_000
	names := make([][]byte, keys)
	for i := range names {
		names[i] = fmt.Appendf(nil, "benchmark:key:%08d", i)
	}
	p := engine.Params{Alg: engine.Token, Limit: 1000, Count: 1, Period: second}
	for _, how := range []string{"apply", "replay"} {
		b.Run(how, func(b *testing.B) {
			e, r := engine.New(engine.Options{}), rand.New(rand.NewPCG(1, 1))
			replay := e.NewReplay(func(n int, each func(int)) {
				for i := range n {
					each(i)
				}
			})
			batch := engine.Batch{Ops: make([]engine.Op, 16)}
			now := instant("2025-06-15T12:34:56Z")
			for range b.N / 16 {
				for i := range batch.Ops {
					batch.Ops[i] = engine.Op{Kind: engine.Take, Params: p, N: 1, Key: names[r.IntN(keys)]}
				}
				now += 1000
				if how == "apply" {
					e.Apply(now, &batch)
				} else {
					replay.Apply(now, &batch)
				}
			}
			replay.Finish()
		})
	}
}

// TestReplayAhead replays full queues while the next queues are filled, with batches of all
// kinds and clocks that go back in between. The digest must equal the digest of a Replay
// that does one thing at a time, and of an Apply of each batch.
func TestReplayAhead(t *testing.T) {
	for seed := range uint64(4 / testwait.Slowdown()) {
		tr := newTracer(seed)
		o := engine.Options{Shards: 4 << seed, Seed: [16]byte{5}}
		want, serial, ahead := engine.New(o), engine.New(o), engine.New(o)
		one := serial.NewReplay(func(n int, each func(int)) {
			for i := range n {
				each(i)
			}
		})
		all := ahead.NewReplay(func(n int, each func(int)) {
			var wait sync.WaitGroup
			for i := range n {
				wait.Go(func() { each(i) })
			}
			wait.Wait()
		})
		all.Ahead(inBackground)
		one.QueueAtMost(200_000)
		all.QueueAtMost(200_000)
		for i := range 500 {
			b := tr.next()
			if i%125 != 0 { // few batches wait for those before
				b = &engine.Batch{}
				for range 80 {
					b.Ops = append(b.Ops, tr.op())
				}
			}
			at := tr.now - engine.Instant(tr.r.Int64N(1e9))
			for _, to := range []func(engine.Instant, *engine.Batch){one.Apply, all.Apply, want.Apply} {
				c := engine.Batch{Ops: slices.Clone(b.Ops), Atomic: b.Atomic}
				to(at, &c)
			}
		}
		one.Finish()
		all.Finish()
		now := tr.now
		if w, s, a := want.Digest(now), serial.Digest(now), ahead.Digest(now); s != w || a != w {
			t.Errorf("seed %d: digest %x one at a time, %x ahead, want %x", seed, s, a, w)
		}
		sameAnswers(t, fmt.Sprintf("seed %d", seed), newTracer(seed), now, ahead, want)
	}
}
