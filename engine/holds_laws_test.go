package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// holdCalls are Commands with a single call: do, with the keys that are its arguments.
type holdCalls struct{ do func(tx *engine.Tx) }

func (*holdCalls) Check(*engine.Call) error           { return nil }
func (*holdCalls) Level() uint8                       { return 1 }
func (x *holdCalls) Do(tx *engine.Tx, _ *engine.Call) { x.do(tx) }
func (*holdCalls) Keys(c *engine.Call, dst []int) (keys []int, _ bool) {
	for i := range c.Args {
		dst = append(dst, i)
	}
	return dst, false
}

// A heldPart is a hold of the model, with the permits that count.
type heldPart struct {
	engine.Hold
	key     int
	settled bool
	used    int64
}

// A past is a change of a key: a part of a hold, a take of n, or new parameters.
type past struct {
	at     engine.Instant
	key    int
	params engine.Params
	n      int64
	part   *heldPart
}

// A holdWorld has three engines with the same keys. The second is swept before each op, the third
// gets only the batches that changed the first, as from a log, and starts from snapshots.
type holdWorld struct {
	*testing.T
	rng     *rand.Rand
	now     engine.Instant
	calls   holdCalls
	engines [3]*engine.Engine
	params  []engine.Params
	changed []bool // the parameters of the key
	strict  []bool // the key may have less left than a fresh key
	history []past
	open    [][]*heldPart
	ids     uint64
	seen    map[string]int
}

const (
	inUse = iota
	swept
	fromLog
)

// newHoldWorld makes a world with two keys of each algorithm, or with one bucket with fixed parameters.
func newHoldWorld(t *testing.T, rng *rand.Rand, bucket bool) *holdWorld {
	w := &holdWorld{T: t, rng: rng, now: 1e18 + engine.Instant(rng.Int64N(second)), seen: map[string]int{}}
	for i := range w.engines {
		w.engines[i] = w.engine()
	}
	for alg := range engine.Algs() {
		for range 2 {
			if alg.IsCounted() && !(bucket && len(w.params) > 0) {
				w.params = append(w.params, w.some(alg))
			}
		}
	}
	w.changed, w.strict = make([]bool, len(w.params)), make([]bool, len(w.params))
	return w
}

func (w *holdWorld) engine() *engine.Engine {
	return engine.New(engine.Options{Shards: 2, Seed: [16]byte{7}, Commands: &w.calls})
}

// some returns parameters of an algorithm.
func (w *holdWorld) some(alg engine.Alg) engine.Params {
	p := engine.Params{Alg: alg, Limit: 4 + w.rng.Int64N(9), Period: second * (1 + w.rng.Int64N(5))}
	if alg.Usage().Period == engine.Rate {
		p.Count, p.Period = 1+w.rng.Int64N(7), p.Period/2+w.rng.Int64N(3)
		p.Reduce()
	}
	return p
}

func holdKey(i int) []byte { return fmt.Append(nil, "key ", i) }

// apply applies a batch to all engines, which must agree.
func (w *holdWorld) apply(build func(b *engine.Batch)) (first *engine.Batch) {
	w.Helper()
	for i, e := range w.engines {
		var b engine.Batch
		build(&b)
		switch i {
		case swept:
			e.Sweep(w.now, 8)
		case fromLog:
			if !slices.ContainsFunc(first.Decisions, func(d engine.Decision) bool { return d.Changed }) {
				continue
			}
		}
		if e.Apply(w.now, &b); first == nil {
			first = &b
		}
		for j := range b.Decisions {
			if b.Decisions[j] != first.Decisions[j] {
				w.Fatalf("engine %d answers %+v, want %+v", i, b.Decisions[j], first.Decisions[j])
			}
		}
	}
	return first
}

// call applies a call with some keys. do returns a text that must be the same in all engines.
func (w *holdWorld) call(keys []int, do func(tx *engine.Tx) string) string {
	w.Helper()
	var got []string
	w.calls.do = func(tx *engine.Tx) { got = append(got, fmt.Sprint(do(tx), tx.TakeWork())) }
	w.apply(func(b *engine.Batch) {
		c := b.AddCall(0)
		for _, key := range keys {
			c.Args = append(c.Args, holdKey(key))
		}
	})
	for i := range got {
		if got[i] != got[0] {
			w.Fatalf("a call answers %q, and %q in the first engine", got[i], got[0])
		}
	}
	return got[0]
}

// ops returns a group of takes of up to three keys, sometimes with new parameters.
func (w *holdWorld) ops(most int64) (keys []int, ops []engine.Op) {
	keys = w.rng.Perm(len(w.params))[:1+w.rng.IntN(min(3, len(w.params)))]
	for _, key := range keys {
		p := w.params[key]
		if len(w.params) > 1 && w.rng.IntN(12) == 0 {
			p = w.some(p.Alg)
		}
		ops = append(ops, engine.Op{Params: p, N: w.rng.Int64N(most + 1), Key: holdKey(key)})
	}
	if len(ops) > 1 {
		ops[0].Group = uint8(len(ops))
	}
	return keys, ops
}

// noteParams notes the parameters of ops that were decided.
func (w *holdWorld) noteParams(keys []int, ops []engine.Op) {
	for i, key := range keys {
		if ops[i].N > 0 && ops[i].Params != w.params[key] {
			w.params[key], w.changed[key], w.strict[key] = ops[i].Params, true, true
			w.history = append(w.history, past{at: w.now, key: key, params: ops[i].Params})
		}
	}
}

func (w *holdWorld) take() {
	keys, ops := w.ops(3)
	b := w.apply(func(b *engine.Batch) { b.Ops = append(b.Ops, ops...) })
	w.noteParams(keys, ops)
	if passed := engine.Passed(ops, b.Decisions); passed {
		for i, key := range keys {
			if ops[i].N > 0 {
				w.history = append(w.history, past{at: w.now, key: key, params: ops[i].Params, n: ops[i].N})
			}
		}
	} else {
		w.seen["denied"]++
	}
}

func (w *holdWorld) look() {
	_, ops := w.ops(0)
	for i := range ops {
		ops[i].LookFor(w.rng.Int64N(9))
	}
	w.apply(func(b *engine.Batch) { b.Ops = append(b.Ops, ops...) })
}

func (w *holdWorld) reserve() {
	keys, ops := w.ops(4)
	var parts []*heldPart
	for i, key := range keys {
		h := engine.Hold{ID: w.ids, Stamp: w.now, N: ops[i].N, End: w.now + 1 + engine.Instant(w.rng.Int64N(4*second))}
		if h.Keep = w.rng.Int64N(3); w.rng.IntN(3) == 0 {
			h.Keep = 1 << 50
		}
		h.Keep = min(h.Keep, h.N)
		parts = append(parts, &heldPart{Hold: h, key: key})
		w.ids++
	}
	got := w.call(keys, func(tx *engine.Tx) string {
		b := engine.Batch{Ops: slices.Clone(ops)}
		if tx.Decide(&b); !engine.Passed(ops, b.Decisions) {
			return "denied"
		}
		for i := range ops {
			if ops[i].N > 0 {
				tx.Hold(ops[i].Key, parts[i].Hold)
			}
		}
		return "held"
	})
	w.noteParams(keys, ops)
	if got[0] == 'd' {
		return
	}
	w.seen["held"]++
	for i, key := range keys {
		if ops[i].N == 0 {
			continue
		}
		w.history = append(w.history, past{at: w.now, key: key, params: ops[i].Params, n: ops[i].N, part: parts[i]})
		if w.changed[key] {
			w.seen["held of a changed key"]++
		}
	}
	w.open = append(w.open, parts)
}

// refund gives permits of a take back, with their age: then the key may have less left. A refund counts
// permits at the rate of now, so the rate must not have changed.
func (w *holdWorld) refund() {
	for i := range w.history[max(0, len(w.history)-8):] {
		x := &w.history[len(w.history)-1-i]
		if x.part != nil || x.n < 2 || w.changed[x.key] || w.rng.IntN(3) > 0 {
			continue
		}
		n := 1 + w.rng.Int64N(x.n-1)
		op := engine.Op{Kind: engine.Refund, Mode: engine.Fit, N: n, Key: holdKey(x.key)}
		op.SetAge(int64(w.now - x.at))
		w.apply(func(b *engine.Batch) { b.Ops = append(b.Ops, op) })
		x.n, w.strict[x.key] = x.n-n, true
		w.seen["refunded"]++
		return
	}
}

// charge charges permits, also beyond the limit. A debt of FIXED may count longer than one of a fresh key.
func (w *holdWorld) charge() {
	key := w.rng.IntN(len(w.params))
	op := engine.Op{Kind: engine.Charge, Mode: engine.Fit | engine.Partial, N: 1 + w.rng.Int64N(9), Key: holdKey(key)}
	b := w.apply(func(b *engine.Batch) { b.Ops = append(b.Ops, op) })
	if n := b.Decisions[0].Allowed; n > 0 {
		w.history = append(w.history, past{at: w.now, key: key, params: w.params[key], n: n})
		w.strict[key] = w.strict[key] || w.params[key].Alg == engine.Fixed
	}
}

// settle settles a reservation, or extends it.
func (w *holdWorld) settle() {
	if len(w.open) == 0 {
		return
	}
	n := max(0, len(w.open)-1-w.rng.IntN(4))
	extends, ttl, used := w.rng.IntN(3) == 0, engine.Instant(w.rng.Int64N(3*second)), w.rng.Int64N(4)
	for _, part := range w.open[n] {
		if part.N == 0 || part.End <= w.now {
			continue
		}
		h := part.Hold
		if h.Keep = min(used, h.N); extends {
			h.End = w.now + 1 + ttl
		}
		w.call([]int{part.key}, func(tx *engine.Tx) string {
			if extends {
				return fmt.Sprint(tx.Reach(holdKey(part.key), h))
			}
			return fmt.Sprint(tx.Settle(holdKey(part.key), h))
		})
		if part.Hold = h; !extends {
			part.settled, part.used = true, h.Keep
			w.seen["settled"]++
		}
	}
	if !extends {
		w.open = slices.Delete(w.open, n, n+1)
	}
}

// counts returns the permits of an entry of the history that count.
func (w *holdWorld) counts(x *past) int64 {
	switch {
	case x.part == nil:
		return x.n
	case x.part.settled:
		return x.part.used
	case x.part.End <= w.now:
		return x.part.Keep
	}
	return x.n
}

// fresh returns a key that was given only the permits that count.
func (w *holdWorld) fresh(key int) engine.Decision {
	e := engine.New(engine.Options{Shards: 1})
	for i := range w.history {
		x := &w.history[i]
		if x.key != key {
			continue
		}
		if n := w.counts(x); n > 0 {
			e.Apply(x.at, &engine.Batch{Ops: []engine.Op{{Kind: engine.Charge, Mode: engine.Fit | engine.Partial,
				Params: x.params, N: n, Key: holdKey(key)}}})
		} else if x.n == 0 { // denied, it changes the parameters
			e.Apply(x.at, &engine.Batch{Ops: []engine.Op{{Params: x.params, N: engine.MaxN, Key: holdKey(key)}}})
		}
	}
	return w.peek(e, key)
}

func (w *holdWorld) peek(e *engine.Engine, key int) engine.Decision {
	b := engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: holdKey(key)}}}
	e.Look(w.now, &b)
	return b.Decisions[0]
}

// check compares the keys with fresh keys, and the engines with each other.
func (w *holdWorld) check(what string) {
	w.Helper()
	for range min(3, len(w.params)) {
		key := w.rng.IntN(len(w.params))
		got, want := w.peek(w.engines[inUse], key), w.fresh(key)
		switch {
		case got == want:
		case !w.strict[key]:
			w.Fatalf("after %s key %d is %+v, want %+v", what, key, got, want)
		case want.Status == engine.Missing:
		case got.Status == engine.Missing || got.Params.Limit == want.Params.Limit && got.Remaining > want.Remaining:
			w.Fatalf("after %s key %d is %+v, and it must not have more than %+v", what, key, got, want)
		}
	}
	digest := w.engines[inUse].Digest(w.now)
	for i, e := range w.engines {
		if got := e.Digest(w.now); got != digest {
			w.Fatalf("after %s the digest of engine %d is %x, want %x", what, i, got, digest)
		}
	}
	key := holdKey(w.rng.IntN(len(w.params)))
	for _, e := range w.engines[:1] {
		if block, ok := e.Export(w.now, 0, key, nil); ok {
			alone := engine.New(engine.Options{Seed: [16]byte{7}})
			if err := alone.Load(block); err != nil {
				w.Fatalf("after %s an exported key is refused: %v", what, err)
			}
		}
	}
}

// restore replaces the last engine by a snapshot of the first. The snapshot is read during changes.
func (w *holdWorld) restore() {
	want := w.engines[inUse].Digest(w.now)
	at, n := w.now, w.engines[inUse].Freeze()
	defer n.Close()
	for range w.rng.IntN(6) {
		w.step()
	}
	e := w.engine()
	for shard := range n.Shards() {
		for {
			block, _, ok := n.Next(shard, nil)
			if !ok {
				break
			}
			if err := e.Load(block); err != nil {
				w.Fatal(err)
			}
		}
	}
	if got := e.Digest(at); got != want {
		w.Fatalf("a snapshot has the digest %x, want %x", got, want)
	}
	if at == w.now && want == w.engines[inUse].Digest(w.now) {
		w.engines[fromLog] = e
		w.seen["restored"]++
	}
}

func (w *holdWorld) step() {
	if w.rng.IntN(3) > 0 {
		w.now += engine.Instant(w.rng.Int64N(second))
	}
	switch w.rng.IntN(10) {
	case 0, 1, 2:
		w.take()
	case 3, 4, 5:
		w.reserve()
	case 6:
		w.charge()
	case 7:
		if w.look(); len(w.params) > 1 || w.rng.IntN(8) == 0 {
			w.refund()
		}
	default:
		w.settle()
	}
}

// TestHoldLaws: a key is as a key that was given, at the same times, the permits that count (replay);
// after a change of its rate or window it has no more left (stricter). Sweeps, snapshots and denied
// takes that no log has change neither an answer nor a digest.
func TestHoldLaws(t *testing.T) {
	seed := testwait.Seed(t)
	seen := map[string]int{}
	for run := range 80 {
		w := newHoldWorld(t, rand.New(rand.NewPCG(seed, uint64(run))), run%4 > 0)
		for i := range 60 {
			if w.step(); i%10 == 9 {
				w.restore()
			}
			w.check("a step")
		}
		for what, n := range w.seen {
			seen[what] += n
		}
	}
	for _, what := range []string{"denied", "held", "held of a changed key", "settled", "restored", "refunded"} {
		if seen[what] == 0 {
			t.Errorf("nothing was %s", what)
		}
	}
}
