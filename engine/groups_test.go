package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A groupTest applies the same random groups to an engine within a bound of memory, and, with
// its evictions, to the model.
type groupTest struct {
	t       *testing.T
	seed    uint64
	r       *rand.Rand
	e       *engine.Engine
	bound   engine.Bound
	model   *model
	replay  *replica
	now     int64
	reading *reading // of a snapshot under way, or nil
	frozen  uint64   // digest at its moment
	seen    groupCounts
}

// groupCounts tell how often a case occurred.
type groupCounts struct{ evictions, refusals, passed, denied, stale, snapshots, repeats int }

// groupKeys is the number of keys of each algorithm: mostly more than fit.
const groupKeys = 60

// op draws a member on one of the last keys of the group, or on a random key.
func (d *groupTest) op(ops []engine.Op) (op engine.Op) {
	params := []engine.Params{
		{Alg: engine.Token, Limit: 3, Count: 1, Period: 10 * second}, {Alg: engine.Slide, Limit: 2, Period: 60 * second},
		{Alg: engine.Log, Limit: 3, Period: 7 * second}, {Alg: engine.Fixed, Limit: 4, Period: 60 * second},
	}
	i := d.r.IntN(len(params))
	op = engine.Op{Kind: engine.Take, Params: params[i], N: []int64{1, 1, 1, 1, 0, 2, 5}[d.r.IntN(7)]}
	if d.r.IntN(6) == 0 { // other parameters, of the same algorithm
		op.Params.Limit++
	}
	op.Key = fmt.Appendf(nil, "%v key %d", params[i].Alg, d.r.IntN(groupKeys))
	if n := len(ops); n > 0 && d.r.IntN(3) == 0 {
		last := &ops[d.r.IntN(n)]
		if last.Kind != engine.Take {
			return op
		}
		op.Key, op.Params = last.Key, last.Params
		d.seen.repeats++
		if d.r.IntN(4) == 0 {
			op.Params.Limit++
		}
	}
	op.Mode = []engine.Mode{0, 0, 0, 0, engine.Shadow, engine.AnyOf}[d.r.IntN(6)]
	return op
}

// group draws a group, sometimes a pair.
func (d *groupTest) group() (ops []engine.Op) {
	if d.r.IntN(3) == 0 {
		ops = append(ops, engine.Op{Kind: engine.Needs, N: int64(d.r.IntN(20) / 19)})
	}
	for range 1 + d.r.IntN(1+d.r.IntN(8)) {
		ops = append(ops, d.op(ops))
	}
	if ops[0].Group = uint8(len(ops)); !ops[0].IsGroup() {
		ops[0].Mode = 0
	}
	return ops
}

func (d *groupTest) fail(format string, args ...any) {
	d.t.Helper()
	d.t.Fatalf("seed %d at %d: %s", d.seed, d.now, fmt.Sprintf(format, args...))
}

// apply applies some groups as a single batch.
func (d *groupTest) apply() {
	var b engine.Batch
	for range 1 + d.r.IntN(3) {
		b.Ops = append(b.Ops, d.group()...)
	}
	b.Atomic = d.r.IntN(4) == 0
	now := engine.Instant(d.now)
	if d.bound.Evict {
		evictions := evict(d.e, d.bound, now, &b)
		for i := range evictions.Ops {
			d.model.apply(now, evictions.Ops[i:i+1])
			d.seen.evictions++
		}
		if err := d.replay.follow(now, evictions); err != nil {
			d.fail("replay: %v", err)
		}
	}
	d.e.Apply(now, &b)
	for from := 0; from < len(b.Ops); {
		ops := b.Ops[from : from+max(1, int(b.Ops[from].Group))]
		d.compare(ops, b.Decisions[from:from+len(ops)])
		from += len(ops)
	}
	if err := d.replay.follow(now, &b); err != nil {
		d.fail("replay: %v", err)
	}
}

// compare compares the decisions on a group with the decisions of the model. A group
// without memory changes nothing.
func (d *groupTest) compare(ops []engine.Op, got []engine.Decision) {
	if got[0].Status == engine.NoMemory {
		d.seen.refusals++
		for i := range got {
			if got[i] != (engine.Decision{Status: engine.NoMemory}) {
				d.fail("op %d of a group without memory: %+v", i, got[i])
			}
		}
		return
	}
	want := d.model.apply(engine.Instant(d.now), ops)
	switch {
	case want[0].Status == engine.Stale:
		d.seen.stale++
	case slices.ContainsFunc(want, func(d engine.Decision) bool { return d.Allowed == 0 }):
		d.seen.denied++
	default:
		d.seen.passed++
	}
	for i, w := range want {
		g := got[i]
		if g.Changed = false; w.Status != engine.OK {
			g = engine.Decision{Status: g.Status}
		}
		if g != w {
			d.fail("op %d of %d: %s\n got %+v\nwant %+v", i, len(ops), opString(&ops[i]), g, w)
		}
	}
}

// read begins a snapshot, reads a part of it, or ends it and compares it with the engine at
// its moment.
func (d *groupTest) read() {
	switch {
	case d.reading == nil:
		d.frozen = d.e.Digest(engine.Instant(d.now))
		d.reading = read(d.t, d.e.Freeze())
	case d.reading.some(d.r):
	default:
		d.reading.n.Close()
		e := d.reading.load(d.r, 1<<d.r.IntN(5))
		if got := e.Digest(d.reading.n.Now()); got != d.frozen {
			d.fail("digest %x of a snapshot, %x of the engine at its moment", got, d.frozen)
		}
		d.reading = nil
		d.seen.snapshots++
	}
}

// TestGroups applies random groups with recurring keys, and repeated keys within a group, to
// full engines, while keys expire and snapshots are read, and compares each decision with the
// model, and the state with a replica. A failure names the seed.
func TestGroups(t *testing.T) {
	testwait.Long(t)
	var total groupCounts
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 33))
		d := &groupTest{t: t, seed: seed, r: r, model: newModel(), now: int64(instant("2025-06-15T12:34:56.789Z"))}
		d.e = engine.New(engine.Options{Shards: 1 << r.IntN(3), Seed: [16]byte{5}})
		d.bound = engine.Bound{MaxBytes: d.e.Stats().MemoryBytes + 4<<10 + r.Int64N(80<<10), Evict: seed%2 == 0}
		d.e.SetBound(d.bound)
		d.replay = &replica{e: engine.New(engine.Options{Seed: [16]byte{5}})}
		for range 600 / testwait.Slowdown() {
			if r.IntN(4) > 0 {
				d.now += r.Int64N(second / 20)
			}
			if r.IntN(100) == 0 {
				d.now += r.Int64N(20 * second)
			}
			d.apply()
			if r.IntN(4) == 0 {
				d.read()
			}
		}
		now := engine.Instant(d.now)
		if got, want := d.replay.e.Digest(now), d.e.Digest(now); got != want {
			d.fail("digest %x of the replica, %x of the engine", got, want)
		}
		total.add(d.seen)
	}
	t.Logf("%+v", total)
	if least := min(total.evictions, total.refusals, total.passed, total.denied, total.stale, total.snapshots,
		total.repeats); least == 0 {
		t.Errorf("some case never occurred: %+v", total)
	}
}

func (c *groupCounts) add(n groupCounts) {
	c.evictions += n.evictions
	c.refusals += n.refusals
	c.passed += n.passed
	c.denied += n.denied
	c.stale += n.stale
	c.snapshots += n.snapshots
	c.repeats += n.repeats
}
