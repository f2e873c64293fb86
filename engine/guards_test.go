package engine_test

import (
	"cmp"
	"fmt"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// penalties are parameters of boxes.
var penalties = []engine.Penalty{
	{After: 3, Within: 600 * second, Block: 60 * second, Growth: 200, Max: day, Forgive: day},
	{After: 1, Within: second, Block: second, Growth: 100, Max: second, Forgive: second},
	{After: 2, Within: 60 * second, Block: 7 * second, Growth: 133, Max: 3600 * second, Forgive: 30 * second,
		Extend: true},
	{After: 5, Within: day, Block: 3 * second, Growth: 1000, Max: engine.MaxPeriod, Forgive: engine.MaxPeriod},
	{After: 2, Within: 10 * second, Block: second, Growth: 101, Max: 2 * second, Forgive: 3 * second},
}

// A guardTest applies the same groups with guards to engines and to the model.
type guardTest struct {
	t      *testing.T
	seed   uint64
	r      *rand.Rand
	e      *engine.Engine
	single *engine.Engine // of one shard
	model  *model
	replay *replica
	now    int64
	marks  []int64
	trace  []string
	closed int // boxes that closed
	met    int // groups that met a closed box
}

// op draws a member of a group, or, outside of a group, an op.
func (d *guardTest) op() engine.Op {
	keys := []engine.Params{
		{Alg: engine.Token, Limit: 3, Count: 1, Period: 10 * second}, {Alg: engine.Slide, Limit: 2, Period: 60 * second},
		{Alg: engine.Log, Limit: 2, Period: 7 * second}, {Alg: engine.Fixed, Limit: 4, Period: 60 * second},
		{Alg: engine.Lease, Limit: 2, Period: 20 * second},
	}
	i := d.r.IntN(len(keys))
	op := engine.Op{Kind: engine.Take, Params: keys[i], N: []int64{1, 1, 1, 0, 2, 5}[d.r.IntN(6)],
		Key: fmt.Append(nil, "limit ", i)}
	if op.Params.Alg == engine.Lease {
		op.Kind, op.N, op.ID = engine.Acquire, min(op.N, 1), []byte{'a' + byte(d.r.IntN(5))}
	}
	op.Mode = []engine.Mode{0, 0, 0, engine.Shadow, engine.AnyOf}[d.r.IntN(5)]
	return op
}

func (d *guardTest) guard() engine.Op {
	box := d.r.IntN(3)
	p := penalties[box]
	if d.r.IntN(8) == 0 {
		p = penalties[d.r.IntN(len(penalties))]
	}
	return engine.Op{Kind: engine.Take, Mode: engine.Guard, Params: p.Params(), N: int64(min(1, d.r.IntN(8))),
		Key: fmt.Append(nil, "box ", box)}
}

// batch draws a group, or a few ops on boxes.
func (d *guardTest) batch() (ops []engine.Op) {
	if d.r.IntN(10) == 0 {
		key := d.guard().Key
		p := engine.Params{Alg: engine.Fixed, Limit: 3, Period: second}
		return []engine.Op{[]engine.Op{
			{Kind: engine.Peek, Key: key}, {Kind: engine.Forget, Key: key}, {Kind: engine.Refund, N: 1, Key: key},
			{Kind: engine.Charge, N: 1, Key: key}, {Kind: engine.Take, N: 1, Key: key, Params: p},
			{Kind: engine.Release, Key: key, ID: key},
		}[d.r.IntN(6)]}
	}
	for range 1 + d.r.IntN(3) {
		if d.r.IntN(4) > 0 {
			ops = append(ops, d.guard())
		}
		for range d.r.IntN(3) {
			ops = append(ops, d.op())
		}
	}
	if len(ops) == 0 || len(ops) == 1 && ops[0].Mode == 0 {
		ops = append(ops, d.guard())
	}
	if d.r.IntN(60) == 0 { // a box on the key of a limit
		ops[d.r.IntN(len(ops))].Key = []byte("limit 1")
	}
	if d.r.IntN(4) == 0 {
		ops = slices.Insert(ops, 0, engine.Op{Kind: engine.Needs, N: int64(d.r.IntN(8) / 7)})
	}
	ops[0].Group = uint8(len(ops))
	return ops
}

// step moves the clock, often to the end of a block or window.
func (d *guardTest) step() {
	switch n := d.r.IntN(8); {
	case n == 0:
		d.now += d.r.Int64N(100 * second)
	case n == 1 && d.r.IntN(10) == 0:
		d.now += d.r.Int64N(3 * day)
	case n < 5 && len(d.marks) > 0:
		if at := d.marks[d.r.IntN(len(d.marks))] + int64(d.r.IntN(3)) - 1; at > d.now && at < lastTime {
			d.now = at
		}
	}
}

func (d *guardTest) fail(format string, args ...any) {
	d.t.Helper()
	for _, line := range d.trace[max(0, len(d.trace)-20):] {
		d.t.Log(line)
	}
	d.t.Fatalf("seed %d at %d: %s", d.seed, d.now, fmt.Sprintf(format, args...))
}

// apply applies ops to all, and compares.
func (d *guardTest) apply(ops []engine.Op) {
	now, b, one := engine.Instant(d.now), engine.Batch{Ops: ops}, engine.Batch{Ops: ops}
	before, look := d.e.Digest(now), b.Looks()
	d.e.Apply(now, &b)
	d.single.Apply(now, &one)
	want := d.model.apply(now, ops)
	changed := false
	for i, w := range want {
		got := b.Decisions[i]
		if one.Decisions[i] != got {
			d.fail("op %d: %+v, in one shard %+v", i, got, one.Decisions[i])
		}
		changed = changed || got.Changed
		got.Changed = false
		d.trace = append(d.trace, fmt.Sprintf("%d %s key=%s -> %+v", d.now, opString(&ops[i]), ops[i].Key, w))
		if w.Status != engine.OK {
			got = engine.Decision{Status: got.Status}
		}
		if ops[i].Kind == engine.Forget || ops[i].Kind == engine.Release {
			got = engine.Decision{Status: got.Status, Allowed: got.Allowed}
		}
		if got != w {
			d.fail("op %d\n got %+v\nwant %+v", i, got, w)
		}
		for _, s := range []engine.Span{w.Wait, w.Reset} {
			if s.Millis >= 0 && s.Millis < 1e12 {
				d.marks = append(d.marks[max(0, len(d.marks)-20):], d.now+nanos(s))
			}
		}
		if ops[i].Mode == engine.Guard && w.Status == engine.OK && w.Wait != (engine.Span{}) {
			d.closed += int(w.Allowed)
			d.met += int(1 - w.Allowed)
		}
	}
	if after := d.e.Digest(now); !changed && after != before || changed && look {
		d.fail("changed: %t, look: %t, but the digest went from %x to %x", changed, look, before, after)
	}
	if err := d.replay.follow(now, &b); err != nil {
		d.fail("replay: %v", err)
	}
	d.checkClosed(now)
}

// checkClosed compares the closed boxes with the model.
func (d *guardTest) checkClosed(now engine.Instant) {
	var want []engine.ClosedBox
	for box := range 3 {
		key := fmt.Append(nil, "box ", box)
		k := d.model.keys[string(key)]
		if k == nil || k.box == nil {
			continue
		}
		b := *k.box
		if b.settle(d.now); b.level > 0 && d.now < b.end {
			want = append(want, engine.ClosedBox{Key: key, Level: b.level, Wait: span(big.NewInt(b.end - d.now)), Params: k.p})
		}
	}
	slices.SortStableFunc(want, func(a, b engine.ClosedBox) int { return cmp.Compare(nanos(b.Wait), nanos(a.Wait)) })
	for _, e := range []*engine.Engine{d.e, d.single, d.replay.e} {
		if got := e.ClosedBoxes(now); !reflect.DeepEqual(got, want) {
			d.fail("closed boxes\n got %v\nwant %v", got, want)
		}
	}
}

// restart replaces the engine by an engine that loads its snapshot.
func (d *guardTest) restart() {
	now := engine.Instant(d.now)
	next := engine.New(engine.Options{Shards: []int{1, 4, 16}[d.r.IntN(3)], Seed: [16]byte{7}})
	n := read(d.t, d.e.Freeze())
	n.all()
	n.n.Close()
	for _, block := range n.blocks {
		if err := next.Load(block); err != nil {
			d.fail("load: %v", err)
		}
	}
	next.SetTime(now)
	if got, want := next.Digest(now), d.e.Digest(now); got != want {
		d.fail("digest %x after a snapshot, before it %x", got, want)
	}
	d.e = next
}

// TestGuards applies random groups with guards, with snapshots in between, and compares each
// decision with the model. A failure names the seed.
func TestGuards(t *testing.T) {
	testwait.Sequential(t)
	closed, met := 0, 0
	for seed := range uint64(40 / testwait.Slowdown()) {
		r := rand.New(rand.NewPCG(seed, 21))
		d := &guardTest{t: t, seed: seed, r: r, model: newModel(), now: int64(instant("2025-06-15T12:34:56.789Z"))}
		d.e = engine.New(engine.Options{Shards: 4, Seed: [16]byte{7}})
		d.single = engine.New(engine.Options{Shards: 1, Seed: [16]byte{7}})
		d.replay = &replica{e: engine.New(engine.Options{Shards: 2, Seed: [16]byte{7}})}
		for range 300 {
			d.step()
			d.apply(d.batch())
			if r.IntN(50) == 0 {
				d.restart()
			}
		}
		now := engine.Instant(d.now)
		if got, want := d.replay.e.Digest(now), d.e.Digest(now); got != want {
			d.fail("digest %x of the replica, %x of the engine", got, want)
		}
		d.e.SweepExpired(now, 1000)
		if got, want := d.e.Len(), int64(d.model.live()); got != want {
			d.fail("after a sweep %d keys, want %d", got, want)
		}
		closed, met = closed+d.closed, met+d.met
	}
	if closed < 100 || met < 100 {
		t.Errorf("%d boxes closed, and %d groups met a closed one, want 100 at least", closed, met)
	}
}
