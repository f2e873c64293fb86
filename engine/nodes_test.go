package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A node applies the same batches as other nodes, and does other work in between.
type node struct {
	name string
	e    *engine.Engine
	b    engine.Batch                            // used with one engine only
	own  func(n *node, tr *tracer, r *rand.Rand) // between two batches
}

var nodes = []node{
	{name: "does nothing else"},
	{name: "sweeps", own: func(n *node, tr *tracer, r *rand.Rand) { n.e.Sweep(tr.now, r.IntN(60)) }},
	{name: "reads", own: func(n *node, tr *tracer, r *rand.Rand) {
		at := tr.now + engine.Instant(r.Int64N(100e9)) // the next batch may be earlier
		batch := tr.readOnly(r)
		n.e.Look(at, &batch)
		n.e.Victims(at, r.Int64N(20_000))
		n.e.Export(at, 0, tr.keys[r.IntN(len(tr.keys))], nil)
		n.e.Digest(0)
	}},
	{name: "restarts from a snapshot", own: func(n *node, _ *tracer, r *rand.Rand) {
		if r.IntN(20) > 0 {
			return
		}
		from := n.e.Freeze()
		defer from.Close()
		n.b = engine.Batch{}
		n.e = engine.New(engine.Options{Shards: 1 << r.IntN(6), Seed: [16]byte{5}})
		for shard := range from.Shards() {
			for block, _, ok := from.Next(shard, nil); ok; block, _, ok = from.Next(shard, nil) {
				if err := n.e.Load(block); err != nil {
					panic(err)
				}
			}
		}
		n.e.SetTime(from.Now())
	}},
	{name: "has a snapshot open", own: func(n *node, _ *tracer, r *rand.Rand) {
		if r.IntN(9) == 0 {
			n.e.Freeze().Close()
		}
	}},
}

// readOnly returns a random read-only batch.
func (tr *tracer) readOnly(r *rand.Rand) engine.Batch {
	b := engine.Batch{Atomic: r.IntN(2) == 0}
	for range 1 + r.IntN(20) {
		op := tr.op()
		switch op.Kind {
		case engine.Take, engine.Refund, engine.Charge:
			op.N = 0
		default:
			op.Kind = []engine.Kind{engine.Peek, engine.Watch}[r.IntN(2)]
		}
		b.Ops = append(b.Ops, op)
	}
	if first := &b.Ops[0]; len(b.Ops) > 1 && first.Kind == engine.Take && b.Ops[1].Kind == engine.Take {
		first.Group, first.Mode, b.Ops[1].Mode = 2, 0, 0
	}
	return b
}

// TestNodes applies the same batches to some engines. Some of them do other work in
// between: they make the same decisions, and have the same Digest.
func TestNodes(t *testing.T) {
	testwait.Sequential(t)
	refused, forgotten := int64(0), int64(0)
	for seed := range uint64(24) {
		tr, r := newTracer(seed), rand.New(rand.NewPCG(seed, 11))
		all := slices.Clone(nodes)
		for i := range all {
			all[i].e = engine.New(engine.Options{Shards: []int{16, 1, 4}[i%3], Seed: [16]byte{5}})
		}
		replayed := engine.New(engine.Options{Shards: 2, Seed: [16]byte{5}})
		replay := replayed.NewReplay(func(n int, each func(int)) {
			for i := range n {
				each(i)
			}
		})
		full := false
		for step := range 300 {
			b := tr.next()
			full = full != (r.IntN(10) == 0)
			b.Full = full
			var want []engine.Decision
			for i := range all {
				n := &all[i]
				n.b.Ops, n.b.Atomic, n.b.Full = b.Ops, b.Atomic, b.Full
				n.e.Apply(tr.now, &n.b)
				if i == 0 {
					want = slices.Clone(n.b.Decisions)
				}
				for j, got := range n.b.Decisions {
					if got != want[j] {
						t.Fatalf("seed %d, step %d: a node that %s answers %s\n got %+v\nwant %+v", seed, step, n.name,
							opString(&b.Ops[j]), got, want[j])
					}
				}
				if n.own != nil {
					n.own(n, tr, r)
				}
			}
			replay.Apply(tr.now, b)
			if r.IntN(4) > 0 {
				continue
			}
			digest := all[0].e.Digest(tr.now)
			for _, n := range all {
				if got := n.e.Digest(tr.now); got != digest {
					t.Fatalf("seed %d, step %d: the digest of a node that %s is %x, want %x", seed, step, n.name, got, digest)
				}
			}
		}
		replay.Finish()
		if got, want := replayed.Digest(tr.now), all[0].e.Digest(tr.now); got != want {
			t.Fatalf("seed %d: the digest after a Replay is %x, want %x", seed, got, want)
		}
		refused += all[0].e.Stats().Refused
		forgotten += all[1].e.Stats().Forgotten - all[0].e.Stats().Forgotten
	}
	if refused == 0 || forgotten == 0 {
		t.Errorf("%d rejected as full, %d more forgotten by sweeps, want both above 0", refused, forgotten)
	}
}

// TestDigestDiffers applies ops one by one: the Digest changes exactly if the state does.
func TestDigestDiffers(t *testing.T) {
	changed := 0
	for seed := range uint64(8 / testwait.Slowdown()) {
		tr := newTracer(seed)
		tr.keys = tr.keys[:60]
		e := engine.New(engine.Options{Shards: 4, Seed: [16]byte{5}})
		type moment struct{ state, what string }
		seen := map[uint64]moment{}
		for range 1500 {
			ops := tr.next().Ops
			op := ops[0]
			if op.Kind == engine.Needs {
				op = ops[1]
			}
			op.Group = 0
			tailed := isListed(op.Params.Alg)
			before, print := e.Digest(tr.now), e.Fingerprint(tr.now, 0, op.Key)
			d := apply(e, tr.now, op)[0]
			after := e.Digest(tr.now)
			differs := print != e.Fingerprint(tr.now, 0, op.Key)
			if tailed && differs && op.Kind == engine.Acquire {
				continue // a renewal may change nothing
			}
			if differs != (before != after) {
				t.Fatalf("seed %d: %s, answer %+v, changes the key: %t; digest %x before, %x after", seed, opString(&op), d,
					differs, before, after)
			}
			if differs {
				changed++
				m := moment{what: fmt.Sprintf("%s at %d", opString(&op), tr.now)}
				for _, key := range tr.keys {
					m.state += fmt.Sprintf("%x ", e.Fingerprint(tr.now, 0, key))
				}
				if other, ok := seen[after]; ok && other.state != m.state {
					t.Fatalf("seed %d: %s leads to the digest %x, and so did %s, to another state", seed, m.what, after, other.what)
				}
				seen[after] = m
			}
		}
	}
	if changed < 300/testwait.Slowdown() {
		t.Errorf("only %d changes", changed)
	}
}

// TestDigestOfTails makes single changes to a log and to the holders of a lease.
func TestDigestOfTails(t *testing.T) {
	at := instant("2025-06-15T12:34:56Z")
	p := engine.Params{Alg: engine.Log, Limit: 10, Period: hour}
	lease := engine.Params{Alg: engine.Lease, Limit: 10, Period: hour}
	take := func(n int64) engine.Op { return engine.Op{Kind: engine.Take, Key: []byte("log"), Params: p, N: n} }
	acquire := func(id string) engine.Op {
		return engine.Op{Kind: engine.Acquire, Key: []byte("lease"), Params: lease, N: 1, ID: []byte(id)}
	}
	other := func(op engine.Op) engine.Op { op.Key = []byte("gol"); return op }
	type step struct {
		at engine.Instant
		op engine.Op
	}
	digest := func(steps ...step) uint64 {
		e := engine.New(engine.Options{})
		for _, s := range steps {
			apply(e, at+s.at, s.op)
		}
		return e.Digest(at + 100)
	}
	same := digest(step{0, take(1)}, step{5, take(2)}, step{6, acquire("a")}, step{7, acquire("b")})
	for _, tt := range []struct {
		name  string
		steps []step
		same  bool
	}{
		{"the same", []step{{0, take(1)}, {5, take(2)}, {6, acquire("a")}, {7, acquire("b")}}, true},
		{"the same with more changes",
			[]step{{0, take(1)}, {5, take(1)}, {5, take(1)}, {6, acquire("a")}, {6, acquire("a")}, {7, acquire("b")}}, true},
		{"another instant", []step{{0, take(1)}, {6, take(2)}, {6, acquire("a")}, {7, acquire("b")}}, false},
		{"another number", []step{{0, take(2)}, {5, take(1)}, {6, acquire("a")}, {7, acquire("b")}}, false},
		{"another entry", []step{{0, take(1)}, {5, take(1)}, {6, take(1)}, {6, acquire("a")}, {7, acquire("b")}}, false},
		{"another holder", []step{{0, take(1)}, {5, take(2)}, {6, acquire("a")}, {7, acquire("c")}}, false},
		{"another end", []step{{0, take(1)}, {5, take(2)}, {6, acquire("a")}, {8, acquire("b")}}, false},
		{"ends the other way around", []step{{0, take(1)}, {5, take(2)}, {6, acquire("b")}, {7, acquire("a")}}, false},
		{"another key", []step{{0, other(take(1))}, {5, other(take(2))}, {6, acquire("a")}, {7, acquire("b")}}, false},
		{"a holder less", []step{{0, take(1)}, {5, take(2)}, {6, acquire("a")}}, false},
	} {
		if got := digest(tt.steps...); (got == same) != tt.same {
			t.Errorf("%s: the digest is %x, and %x without; want equal: %t", tt.name, got, same, tt.same)
		}
	}
}

// TestLook compares the answers of Look with the answers of Apply, and the state before and
// after.
func TestLook(t *testing.T) {
	for seed := range uint64(20 / testwait.Slowdown()) {
		tr, r := newTracer(seed), rand.New(rand.NewPCG(seed, 12))
		o := engine.Options{Shards: 4, Seed: [16]byte{5}}
		e, other, never := engine.New(o), engine.New(o), engine.New(o)
		step := func() {
			b := tr.next()
			e.Apply(tr.now, b)
			apply(other, tr.now, b.Ops...)
			apply(never, tr.now, b.Ops...)
		}
		for range 200 {
			step()
		}
		at := tr.now + engine.Instant(r.Int64N(100e9))
		digest, stats, now := e.Digest(at), e.Stats(), e.Now()
		for range 50 {
			b := tr.readOnly(r)
			if !b.Looks() {
				t.Fatalf("seed %d: Looks is false for %v", seed, b.Ops)
			}
			e.Look(at, &b)
			for i, want := range apply(other, at, b.Ops...) {
				if got := b.Decisions[i]; got != want {
					t.Fatalf("seed %d: look at %s\n got %+v\nwant %+v", seed, opString(&b.Ops[i]), got, want)
				}
			}
		}
		if e.Now() != now || e.Stats() != stats || e.Digest(at) != digest {
			t.Fatalf("seed %d: Look changed something: time %d, was %d; stats %+v, were %+v", seed, e.Now(), now, e.Stats(),
				stats)
		}
		step()
		for _, key := range tr.keys {
			if got, want := e.Fingerprint(tr.now, 0, key), never.Fingerprint(tr.now, 0, key); got != want {
				t.Fatalf("seed %d: the fingerprint of %q is %d, and %d without Look", seed, key, got, want)
			}
		}
		b := tr.readOnly(r)
		if n := testing.AllocsPerRun(10, func() { e.Look(at, &b) }); n > 0 {
			t.Errorf("seed %d: %v allocations a Look, want none", seed, n)
		}
	}
	changes := engine.Op{Kind: engine.Take, Key: []byte("k"), Params: counter(engine.Token, 1), N: 1}
	for _, kind := range []engine.Kind{engine.Take, engine.Refund, engine.Charge, engine.Forget, engine.Acquire,
		engine.Release, engine.Flush} {
		op := changes
		op.Kind = kind
		if b := (&engine.Batch{Ops: []engine.Op{op}}); b.Looks() {
			t.Errorf("Looks is true for kind %d", kind)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Look at a Take of 1: no panic, want one")
		}
	}()
	engine.New(engine.Options{}).Look(0, &engine.Batch{Ops: []engine.Op{changes}})
}
