package engine_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"limitsrv/engine"
)

// login returns the group of a request to log in: a guard, and two limits.
func login() []engine.Op {
	ops := []engine.Op{
		{Kind: engine.Take, Mode: engine.Guard, Key: []byte("login#penalty"), Params: penalties[0].Params(), N: 1},
		{Kind: engine.Take, Key: []byte("login#slide"),
			Params: engine.Params{Alg: engine.Slide, Limit: 5, Period: 60 * second}, N: 1},
		{Kind: engine.Take, Key: []byte("login#day"),
			Params: engine.Params{Alg: engine.Fixed, Limit: 20, Calendar: engine.Day}, N: 1},
	}
	ops[0].Group = uint8(len(ops))
	return ops
}

// TestPenalty insists on a refused request until the box closes, once and again.
func TestPenalty(t *testing.T) {
	e := engine.New(engine.Options{})
	at := instant("2026-11-22T02:39:14.8565Z")
	ask := func() []engine.Decision { return apply(e, at, login()...) }
	describe := func(ds []engine.Decision) string {
		return fmt.Sprint(ds[0].Allowed, ds[0].Remaining, ds[0].Wait.CeilMillis(), ds[0].Reset.CeilMillis(), " ",
			ds[1].Allowed, ds[1].Remaining, ds[1].Wait.CeilMillis(), ds[1].Reset.CeilMillis(), " ", ds[2].Remaining)
	}
	for i, want := range []string{
		"1 3 0 0 1 4 0 45144 19", "1 3 0 0 1 3 0 75144 18", "1 3 0 0 1 2 0 85144 17", "1 3 0 0 1 1 0 90144 16",
		"1 3 0 0 1 0 0 93144 15",
		"1 2 0 600000 0 0 45144 93144 15", "1 1 0 600000 0 0 45144 93144 15",
		"1 0 60000 86460000 0 0 45144 93144 15", // the third strike closes it
		"0 0 60000 86460000 0 0 0 0 0",
	} {
		if got := describe(ask()); got != want {
			t.Errorf("request %d: %s, want %s", i, got, want)
		}
	}
	at += engine.Instant(60 * second)
	if got, want := describe(ask()), "1 3 0 86400000 1 1 0 45144 14"; got != want {
		t.Errorf("after the block: %s, want %s", got, want)
	}
	for range 5 {
		ask()
	}
	if got, want := describe(ask()), "0 0 120000 172920000 0 0 0 0 0"; got != want {
		t.Errorf("the second block: %s, want %s", got, want)
	}
	peek := apply(e, at, engine.Op{Kind: engine.Peek, Key: []byte("login#penalty")})[0]
	if peek.Params != penalties[0].Params() || peek.Wait.CeilMillis() != 120000 || peek.Allowed != 0 {
		t.Errorf("peek of the closed box: %+v", peek)
	}
	at += engine.Instant((120 + 2*86400) * second)
	if d := apply(e, at, engine.Op{Kind: engine.Peek, Key: []byte("login#penalty")})[0]; d.Status != engine.Missing {
		t.Errorf("peek of a box as good as new: %+v", d)
	}
}

// TestPenaltyCheck checks the bounds of penalties, and that Params preserves them.
func TestPenaltyCheck(t *testing.T) {
	for _, p := range penalties {
		q := p.Params()
		if err := q.Check(); err != nil || q.Penalty() != p || !q.IsReduced() {
			t.Errorf("%+v: params %+v, %v, are %+v", p, q, err, q.Penalty())
		}
	}
	for name, change := range map[string]func(p *engine.Penalty){
		"no strikes":         func(p *engine.Penalty) { p.After = 0 },
		"too many strikes":   func(p *engine.Penalty) { p.After = engine.MaxListed + 1 },
		"within nothing":     func(p *engine.Penalty) { p.Within = 0 },
		"a part of a second": func(p *engine.Penalty) { p.Block++ },
		"too long":           func(p *engine.Penalty) { p.Forgive = engine.MaxPeriod + second },
		"a block over max":   func(p *engine.Penalty) { p.Max = 59 * second },
		"shrinking":          func(p *engine.Penalty) { p.Growth = 99 },
		"growing too much":   func(p *engine.Penalty) { p.Growth = 1001 },
	} {
		p := penalties[0]
		change(&p)
		if p.Check() == nil {
			t.Errorf("%s: %+v is valid", name, p)
		}
		if q := p.Params(); name != "a part of a second" && q.Check() == nil {
			t.Errorf("%s: the params %+v are valid", name, q)
		}
	}
}

// TestFullGuards: a batch that may create no key gives no strike to a new box, and refuses
// all the same; a Shadow member of a new key takes nothing.
func TestFullGuards(t *testing.T) {
	e := engine.New(engine.Options{})
	at := instant("2026-11-22T02:39:14.8565Z")
	ops := login()
	ops[1].N = 6
	shadow := engine.Op{Kind: engine.Take, Mode: engine.Shadow, Key: []byte("new"), Params: ops[2].Params, N: 1}
	full := func(ops ...engine.Op) []engine.Decision {
		ops[0].Group = uint8(len(ops))
		b := engine.Batch{Full: true, Ops: ops}
		e.Apply(at, &b)
		return b.Decisions
	}
	if ds := full(ops...); ds[0].Status != engine.OK || ds[0].Remaining != 3 || ds[1].Allowed != 0 || e.Len() != 0 ||
		e.Stats().Refused != 1 {
		t.Errorf("a refused group with a new box: %+v, %d keys", ds, e.Len())
	}
	apply(e, at, engine.Op{Kind: engine.Take, Key: ops[2].Key, Params: ops[2].Params, N: 1})
	group := []engine.Op{ops[2], shadow}
	if ds := full(group...); !engine.Passed(group, ds) || ds[0].Remaining != 18 || ds[1].Status != engine.NoMemory ||
		e.Len() != 1 {
		t.Errorf("a group with a shadow of a new key: %+v, %d keys", ds, e.Len())
	}
}

// TestTopGuards: the top and the statistics count closed boxes.
func TestTopGuards(t *testing.T) {
	e := engine.New(engine.Options{})
	at := instant("2026-11-22T02:39:14.8565Z")
	for range 20 {
		apply(e, at, login()...)
	}
	if s := e.Stats(); s.Denied[engine.Box] != 12 || s.Allowed[engine.Box] != 8 {
		t.Errorf("boxes: %d allowed, %d denied, want 8 and 12", s.Allowed[engine.Box], s.Denied[engine.Box])
	}
}

// TestRaceGuards strikes boxes by groups over several shards, concurrently: no strike is
// lost, and no group passes a closed box.
func TestRaceGuards(t *testing.T) {
	p := engine.Penalty{After: 200, Within: day, Block: day, Growth: 100, Max: day, Forgive: day}
	e := engine.New(engine.Options{})
	var struck, blocked atomic.Int64
	race(e, func(_ int, r *rand.Rand, now func() engine.Instant) {
		for range 60 {
			ops := []engine.Op{
				{Kind: engine.Take, Mode: engine.Guard, Key: []byte("box"), Params: p.Params(), N: 1},
				{Kind: engine.Take, Key: fmt.Append(nil, "key ", r.IntN(9)), Params: counter(engine.Token, 5), N: 6},
				{Kind: engine.Take, Mode: engine.Shadow, Key: fmt.Append(nil, "shadow ", r.IntN(9)),
					Params: counter(engine.Fixed, 5), N: 1},
			}
			ops[0].Group = uint8(len(ops))
			switch ds := apply(e, now(), ops...); {
			case engine.Passed(ops, ds):
				t.Error("a group passed that never can")
			case ds[0].Allowed == 1:
				struck.Add(1)
			default:
				blocked.Add(1)
			}
		}
	})
	if struck.Load() != p.After || blocked.Load() == 0 {
		t.Errorf("%d strikes and %d groups that were blocked, want %d strikes", struck.Load(), blocked.Load(), p.After)
	}
}
