package reservations_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"limitsrv/commands/reservations"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// An amount was taken from a key at a time.
type amount struct {
	at     engine.Instant
	key    int
	n      int64
	layer  *held // nil: a take or a charge, of which all counts
	member int
}

// A held is a reservation as the model knows it.
type held struct {
	id      string
	end     engine.Instant
	keep    int64
	keys    []int
	fixed   uint64
	settled bool
	used    []int64 // by member, once it is settled or late
}

// A world has an engine with reservations, another that is swept and restored from snapshots, and the
// history of the amounts: a dumb model.
type world struct {
	t           *testing.T
	rng         *rand.Rand
	now         engine.Instant
	e, restored *engine.Engine
	params      []engine.Params
	history     []amount
	open        []*held
	ids         int
	// debts is set for keys of FIXED that were charged beyond their limit: these may be stricter.
	debts map[int]bool
	seen  map[string]int
}

// newWorld makes a world with keys of all algorithms, or with one bucket alone.
func newWorld(t *testing.T, rng *rand.Rand, buckets bool) *world {
	w := &world{t: t, rng: rng, now: 1e18, e: newEngine(), restored: newEngine(), debts: map[int]bool{},
		seen: map[string]int{}}
	for alg := range engine.Algs() {
		for range 2 {
			if !alg.IsCounted() || buckets && (alg.Usage().Period != engine.Rate || len(w.params) == 1) {
				continue
			}
			p := engine.Params{Alg: alg, Limit: 4 + rng.Int64N(12), Period: int64(time.Second) * (2 + rng.Int64N(9))}
			if alg.Usage().Period == engine.Rate {
				p.Count, p.Period = 1+rng.Int64N(3), p.Period/4
				p.Reduce()
			}
			w.params = append(w.params, p)
		}
	}
	return w
}

func newEngine() *engine.Engine {
	return engine.New(engine.Options{Shards: 4, Seed: [16]byte{3}, Commands: commands})
}

func (w *world) key(i int) []byte { return fmt.Appendf(nil, "%v %d", w.params[i].Alg, i) }

// apply applies a batch that build makes to both engines, and returns it as the first answered it.
func (w *world) apply(build func(b *engine.Batch)) *engine.Batch {
	var first, second engine.Batch
	build(&first)
	build(&second)
	w.e.Apply(w.now, &first)
	w.restored.Apply(w.now, &second)
	for i := range first.Calls {
		if string(first.Calls[i].Answer) != string(second.Calls[i].Answer) {
			w.t.Fatalf("a call is answered %q, and %q by the engine that was restored", first.Calls[i].Answer,
				second.Calls[i].Answer)
		}
	}
	return &first
}

// counts returns the part of an amount that counts at now.
func (w *world) counts(a *amount) int64 {
	h := a.layer
	switch {
	case h == nil:
		return a.n
	case h.settled || h.end <= w.now:
		before := int64(0) // of older layers
		for i := range w.history {
			if b := &w.history[i]; b == a {
				break
			} else if b.layer == h && b.member == a.member {
				before += b.n
			}
		}
		used := h.keep
		switch {
		case h.settled:
			used = h.used[a.member]
		case h.fixed>>a.member&1 != 0:
			used = a.n + before
		}
		return max(0, min(a.n, used-before))
	}
	return a.n
}

// fresh returns an engine that was given the amounts of a key that count.
func (w *world) fresh(key int) *engine.Engine {
	e := engine.New(engine.Options{Shards: 1, Seed: [16]byte{3}})
	for i := range w.history {
		a := &w.history[i]
		if n := w.counts(a); a.key == key && n > 0 {
			b := engine.Batch{Ops: []engine.Op{w.charge(key, n)}}
			e.Apply(a.at, &b)
		}
	}
	return e
}

func (w *world) charge(key int, n int64) engine.Op {
	return engine.Op{Kind: engine.Charge, Mode: engine.Fit | engine.Partial, Params: w.params[key], N: n, Key: w.key(key)}
}

// check compares all keys with fresh keys.
func (w *world) check(what string) {
	w.t.Helper()
	for key := range w.params {
		peek := func(e *engine.Engine) engine.Decision {
			b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: w.key(key)}}}
			e.Look(w.now, &b)
			return b.Decisions[0]
		}
		got, want := peek(w.e), peek(w.fresh(key))
		if w.debts[key] && got.Status == engine.OK && (want.Status == engine.Missing || got.Remaining <= want.Remaining) {
			continue
		}
		if got != want {
			w.t.Fatalf("after %s, key %d of %+v is\n%+v, want\n%+v\nhistory %+v", what, key, w.params[key], got, want, w.of(key))
		}
	}
	if got, want := w.restored.Digest(w.now), w.e.Digest(w.now); got != want {
		w.t.Fatalf("after %s the engine that was restored has the digest %x, want %x", what, got, want)
	}
}

func (w *world) of(key int) (text []string) {
	for i := range w.history {
		if a := &w.history[i]; a.key == key {
			text = append(text, fmt.Sprintf("-%v: %d of %d", time.Duration(w.now-a.at), w.counts(a), a.n))
		}
	}
	return text
}

func (w *world) take() {
	key, n := w.rng.IntN(len(w.params)), 1+w.rng.Int64N(5)
	op := engine.Op{Params: w.params[key], N: n, Key: w.key(key)}
	if w.apply(func(b *engine.Batch) { b.Ops = append(b.Ops, op) }).Decisions[0].Allowed > 0 {
		w.history = append(w.history, amount{at: w.now, key: key, n: n})
	}
}

func (w *world) reserve() {
	h := &held{id: fmt.Sprint("id ", w.ids)}
	w.ids++
	var ops []engine.Op
	for _, key := range w.rng.Perm(len(w.params))[:1+w.rng.IntN(min(3, len(w.params)))] {
		h.keys = append(h.keys, key)
		ops = append(ops, engine.Op{Params: w.params[key], N: w.rng.Int64N(6), Key: w.key(key)})
	}
	terms := reservations.Terms{TTL: 1 + w.rng.Int64N(int64(9*time.Second)), Keep: w.keep(), Partial: w.rng.IntN(3) == 0,
		Fixed: w.rng.Uint64N(8) & w.rng.Uint64N(8), Request: w.rng.Uint64()}
	h.end, h.keep, h.fixed = w.now+engine.Instant(terms.TTL), terms.Keep, terms.Fixed
	for range 1 + w.rng.IntN(2) { // a repeat takes nothing
		b := w.apply(func(b *engine.Batch) {
			b.Ops = append(b.Ops, ops...)
			reservations.Reserve(b, 0, []byte(h.id), terms)
		})
		var reply reservations.Reply
		if err := reply.Read(&b.Calls[0]); err != nil {
			w.t.Fatal(err)
		}
		passed := true
		for _, d := range reply.Decisions {
			passed = passed && d.Allowed > 0
		}
		if !passed {
			w.seen["refused"]++
			return
		}
		if reply.Repeated {
			w.seen["repeated"]++
			break
		}
		for i, op := range ops {
			n := op.N
			if terms.Partial && h.fixed>>i&1 == 0 {
				n = min(n, reply.Decisions[i].Allowed)
			}
			w.history = append(w.history, amount{w.now, h.keys[i], n, h, i})
		}
	}
	w.seen["reserved"]++
	w.open = append(w.open, h)
}

// keep returns a number for KEEP.
func (w *world) keep() int64 {
	switch w.rng.IntN(3) {
	case 0:
		return 0
	case 1:
		return w.rng.Int64N(5)
	}
	return reservations.KeepAll
}

// pick returns an open reservation, which may have expired, or nil.
func (w *world) pick() *held {
	if len(w.open) == 0 {
		return nil
	}
	return w.open[max(0, len(w.open)-1-w.rng.IntN(4))]
}

func (w *world) forget(h *held) {
	for i := range w.open {
		if w.open[i] == h {
			w.open = append(w.open[:i], w.open[i+1:]...)
			return
		}
	}
}

// total returns the permits that a reservation took from a member.
func (w *world) total(h *held, member int) (n int64) {
	for i := range w.history {
		if a := &w.history[i]; a.layer == h && a.member == member {
			n += a.n
		}
	}
	return n
}

func (w *world) settle() {
	h := w.pick()
	if h == nil {
		return
	}
	late, actual := h.end <= w.now, w.rng.Int64N(9)
	cancels := w.rng.IntN(4) == 0
	b := w.apply(func(b *engine.Batch) {
		if cancels {
			reservations.Cancel(b, []byte(h.id))
		} else {
			reservations.Commit(b, []byte(h.id), []int64{actual})
		}
	})
	w.forget(h)
	if b.Calls[0].Answer[0] == 0 || cancels && late {
		return
	}
	used := make([]int64, len(h.keys))
	var beyond []amount
	for i, key := range h.keys {
		total := w.total(h, i)
		counted := total
		switch {
		case h.fixed>>i&1 != 0:
			if used[i] = total; cancels {
				used[i] = 0
			}
			continue
		case cancels:
			continue
		case late:
			counted = min(h.keep, total)
			used[i] = counted
		default:
			used[i] = min(actual, total)
		}
		if actual > counted {
			beyond = append(beyond, amount{at: w.now, key: key, n: actual - counted})
		}
	}
	h.settled, h.used = true, used
	for _, a := range beyond {
		charge := engine.Batch{Ops: []engine.Op{w.charge(a.key, a.n)}}
		w.fresh(a.key).Apply(w.now, &charge)
		if a.n = charge.Decisions[0].Allowed; a.n > 0 {
			w.history = append(w.history, a)
		}
		w.debts[a.key] = w.debts[a.key] || w.params[a.key].Alg == engine.Fixed
	}
	w.seen["settled"]++
}

func (w *world) extend() {
	h := w.pick()
	if h == nil || h.end <= w.now {
		return
	}
	x := reservations.Extension{TTL: 1 + w.rng.Int64N(int64(9*time.Second)), Keep: reservations.Unchanged}
	if x.By = 0; w.rng.IntN(2) == 0 {
		x.By = 1 + w.rng.Int64N(3)
	}
	if w.rng.IntN(2) == 0 {
		x.Keep = w.keep()
	}
	b := w.apply(func(b *engine.Batch) { reservations.Extend(b, []byte(h.id), x) })
	if string(b.Calls[0].Answer[:4]) != "\x09\x04\x03\x02" { // [1, ...
		w.seen["not extended"]++
		return
	}
	if h.end = w.now + engine.Instant(x.TTL); x.Keep != reservations.Unchanged {
		h.keep = x.Keep
	}
	for i, key := range h.keys {
		if x.By > 0 && h.fixed>>i&1 == 0 {
			w.history = append(w.history, amount{w.now, key, x.By, h, i})
		}
	}
	w.seen["extended"]++
}

// restore replaces the second engine by its snapshot.
func (w *world) restore() {
	w.restored.Sweep(w.now, 64)
	n := w.restored.Freeze()
	defer n.Close()
	w.restored = w.load(n)
}

// freeze reads a snapshot after further changes. It must be the state before them.
func (w *world) freeze() {
	want := w.e.Digest(w.now)
	n := w.e.Freeze()
	defer n.Close()
	for range 8 {
		[]func(){w.take, w.reserve, w.settle, w.extend}[w.rng.IntN(4)]()
	}
	if got := w.load(n).Digest(w.now); got != want {
		w.t.Fatalf("the snapshot of a state that has changed since has the digest %x, want %x", got, want)
	}
}

// load returns an engine with the state of a snapshot.
func (w *world) load(n *engine.Snapshot) *engine.Engine {
	e := newEngine()
	for shard := range n.Shards() {
		for {
			block, _, ok := n.Next(shard, nil)
			if !ok {
				break
			}
			if err := engine.CheckBlock(block); err != nil {
				w.t.Fatal(err)
			}
			if err := e.Load(block); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return e
}

// TestReservations is the law of reservations: each key is always as a key that was given, at the same
// times, the amounts that count: all of an open reservation, the kept permits of an expired
// reservation, the used permits of a settled reservation. A node that sweeps, and starts from snapshots,
// agrees.
func TestReservations(t *testing.T) {
	seed := testwait.Seed(t)
	seen := map[string]int{}
	for run := range 150 {
		w := newWorld(t, rand.New(rand.NewPCG(seed, uint64(run))), run%6 > 0)
		for range 60 {
			if w.rng.IntN(4) > 0 {
				w.now += engine.Instant(w.rng.Int64N(int64(1500 * time.Millisecond)))
			}
			switch w.rng.IntN(11) {
			case 0, 1, 2:
				w.take()
				w.check("a take")
			case 3, 4, 5:
				w.reserve()
				w.check("a reservation")
			case 6, 7:
				w.settle()
				w.check("a settlement")
			case 8:
				w.freeze()
				w.check("changes during a snapshot")
			case 9:
				w.extend()
				w.check("an extension")
			default:
				w.restore()
				w.check("a start from a snapshot")
			}
		}
		for what, n := range w.seen {
			seen[what] += n
		}
	}
	for _, what := range []string{"reserved", "repeated", "refused", "settled", "extended", "not extended"} {
		if seen[what] == 0 {
			t.Errorf("no reservation was %s", what)
		}
	}
}
