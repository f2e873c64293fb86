package engine_test

import (
	"bytes"
	"fmt"
	"math/big"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"

	"pgregory.net/rapid"
)

// A mix is a few sets of parameters of an algorithm, which a test uses on the same key in any
// order. most is their most generous combination: the highest limit with the fastest rate or the
// shortest window.
type mix struct {
	sets []engine.Params
	most engine.Params
}

// drawMix draws parameters. Every window is a multiple of the shortest, so that its windows
// are the most generous for the other parameters too.
func drawMix(t *rapid.T, a engine.Alg) mix {
	var m mix
	calendars := a.Usage().Period == engine.CalendarWindow && rapid.Bool().Draw(t, "calendar")
	base := rapid.SampledFrom([]int64{engine.MinPeriod, 7_919, second, 60 * second, hour}).Draw(t, "base")
	for range rapid.IntRange(2, 4).Draw(t, "sets") {
		p := engine.Params{Alg: a, Limit: rapid.SampledFrom([]int64{1, 2, 3, 7, 10, 100, 999, 1_000_000}).Draw(t, "limit")}
		switch {
		case a.Usage().Period == engine.Rate:
			r := rapid.SampledFrom(rates).Draw(t, "rate")
			g := gcd(r[0], r[1])
			p.Count, p.Period = r[0]/g, r[1]/g
		case calendars:
			p.Calendar = engine.Calendar(rapid.IntRange(int(engine.Day), int(engine.Year)).Draw(t, "span"))
		default:
			p.Period = base * rapid.SampledFrom([]int64{1, 1, 2, 3, 60, 1440}).Draw(t, "times")
		}
		m.sets = append(m.sets, p)
	}
	m.most = m.sets[0]
	for _, p := range m.sets {
		m.most.Limit = max(m.most.Limit, p.Limit)
		if p.Count > 0 && big.NewRat(p.Count, p.Period).Cmp(big.NewRat(m.most.Count, m.most.Period)) > 0 {
			m.most.Count, m.most.Period = p.Count, p.Period
		}
	}
	if m.most.Count == 0 { // possibly not one of them, but no less generous
		m.most.Calendar, m.most.Period = engine.NoCalendar, base
		if calendars {
			m.most.Calendar, m.most.Period = engine.Day, 0
		}
	}
	return m
}

// drawPause draws the time to the next request, often up to the end of a wait or the
// reset.
func drawPause(t *rapid.T, p engine.Params, last engine.Decision) int64 {
	window := p.Period
	if p.Calendar != engine.NoCalendar {
		window = 24 * hour
	}
	pauses := []int64{0, 0, 0, 1, 1 + window/1000, window / 3, window, rapid.Int64Range(0, window).Draw(t, "pause")}
	for _, s := range []engine.Span{last.Wait, last.Reset} {
		if s.Millis >= 0 && s.Millis < 1e11 {
			pauses = append(pauses, nanos(s), max(0, nanos(s)-1))
		}
	}
	return rapid.SampledFrom(pauses).Draw(t, "then")
}

// TestChangedParametersGrantNothingExtra requests a key under many parameters: in any time
// no more is granted than the most generous parameters alone could earn, and with one
// permit at a time, never more up to any moment than they alone do grant. Read-only ops,
// denials and groups that name the key twice are among the requests. A failure prints the
// command that repeats it.
//
//	go test ./engine -run=ChangedParameters -rapid.checks=100000
func TestChangedParametersGrantNothingExtra(t *testing.T) {
	testwait.Sequential(t)
	for _, a := range algs() {
		t.Run(a.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { checkMix(t, a) })
		})
	}
}

func checkMix(t *rapid.T, a engine.Alg) {
	var (
		m        = drawMix(t, a)
		e, alone = engine.New(engine.Options{Shards: 1}), engine.New(engine.Options{Shards: 1})
		now      = instant(rapid.SampledFrom(starts[:len(starts)-1]).Draw(t, "start"))
		single   = a == engine.Lease || rapid.Bool().Draw(t, "one at a time")
		grants   []logEntry
		last     engine.Decision
		sum      int64
		most     int64 // granted under m.most alone
	)
	for i := range rapid.IntRange(1, 40).Draw(t, "requests") {
		now += engine.Instant(drawPause(t, rapid.SampledFrom(m.sets).Draw(t, "pace"), last))
		if now > engine.Instant(lastTime) {
			return
		}
		ops := drawRequest(t, m, i, single)
		n := int64(0)
		for j, d := range apply(e, now, ops...) {
			last = d
			switch {
			case d.Allowed == 0 || ops[j].N == 0:
				if len(ops) > 1 {
					n = 0
				}
			case ops[j].Mode&engine.Partial != 0:
				n += d.Allowed
			default:
				n += ops[j].N
			}
			if len(ops) > 1 && d.Allowed == 0 {
				n = 0
				break
			}
		}
		grants, sum = append(grants, logEntry{int64(now), n}), sum+n
		if single && ops[0].N > 0 {
			op := ops[0]
			op.Params = m.most
			if most += apply(alone, now, op)[0].Allowed; sum > most {
				t.Fatalf("%+v at %d: %d granted, but under %+v alone %d", m.sets, now, sum, m.most, most)
			}
		}
	}
	for i, first := range grants {
		sum := new(big.Rat)
		for _, last := range grants[i:] {
			sum.Add(sum, whole(last.n))
			if most := earned(m.most, engine.Instant(first.at), engine.Instant(last.at)); sum.Cmp(most) > 0 {
				t.Fatalf("%+v: granted %v from %d to %d, the most generous earned %v", m.sets, sum, first.at, last.at, most)
			}
		}
	}
}

// drawRequest draws a request under a set of parameters, or a group of two under two.
func drawRequest(t *rapid.T, m mix, i int, single bool) []engine.Op {
	p := rapid.SampledFrom(m.sets).Draw(t, "params")
	op := engine.Op{Kind: engine.Take, Key: []byte("key"), Params: p, N: 1}
	if p.Alg == engine.Lease {
		op.Kind, op.ID = engine.Acquire, fmt.Append(nil, i)
		return []engine.Op{op}
	}
	if single {
		op.N = rapid.SampledFrom([]int64{1, 1, 1, 1, 0}).Draw(t, "n")
		return []engine.Op{op}
	}
	draw := func(p engine.Params) int64 {
		return rapid.SampledFrom([]int64{1, 1, 0, 2, p.Limit, p.Limit, p.Limit - 1, p.Limit + 1, p.Limit / 2}).Draw(t, "n")
	}
	op.N = draw(p)
	if rapid.IntRange(0, 5).Draw(t, "kind") == 0 {
		other := op
		other.Params = rapid.SampledFrom(m.sets).Draw(t, "params")
		other.N = draw(other.Params)
		op.Group = 2
		return []engine.Op{op, other}
	}
	op.Mode = rapid.SampledFrom([]engine.Mode{0, 0, engine.Partial}).Draw(t, "mode")
	return []engine.Op{op}
}

// TestShorterWindowForgetsNothing uses up a long window, requests under a shorter window,
// and requests under the long window again after the shorter has ended.
func TestShorterWindowForgetsNothing(t *testing.T) {
	start := instant("2025-06-15T12:00:05Z")
	for _, a := range []engine.Alg{engine.Fixed, engine.Slide, engine.Log} {
		e := engine.New(engine.Options{})
		ask := func(at engine.Instant, window int64) engine.Decision {
			p := engine.Params{Alg: a, Limit: 10, Period: window}
			return apply(e, at, engine.Op{Kind: engine.Take, Key: []byte("key"), N: 10, Params: p})[0]
		}
		ask(start, hour)
		if d := ask(start, second); d.Allowed != 0 || nanos(d.Wait) < 3595*second {
			t.Errorf("%v: under a shorter window %+v, want a wait of most of an hour", a, d)
		}
		if d := ask(start+engine.Instant(600*second), hour); d.Allowed != 0 || d.Remaining != 0 {
			t.Errorf("%v: back under the longer window %+v, want it denied", a, d)
		}
	}
}

// TestAfterALowerRate proves that the state of a bucket does not tell how many permits are left after
// a change to a lower rate: three sequences of requests lead to the same state. After one sequence
// the most generous parameters have 98 permits left, after the other two no permits.
func TestAfterALowerRate(t *testing.T) {
	type request struct{ limit, count, period, n int64 }
	const fast, slow = second / 100, 36 * second // per permit
	start := instant("2025-06-15T12:00:05Z")
	var state []byte
	for _, tt := range []struct {
		name     string
		requests []request
		left     int64 // under the highest limit with the fastest rate
	}{
		{"one permit at each rate", []request{{100, 1, fast, 1}, {100, 1, slow, 1}}, 98},
		{"a higher limit", []request{{3601, 1, fast, 3601}, {100, 1, slow, 1}}, 0},
		{"a rate in between", []request{{100, 1, fast, 1}, {100, 11, 4 * second, 99}, {100, 1, slow, 1}}, 0},
	} {
		e := engine.New(engine.Options{Shards: 1})
		var highest, granted int64
		var last engine.Decision
		for _, r := range tt.requests {
			p := engine.Params{Alg: engine.Token, Limit: r.limit, Count: r.count, Period: r.period}
			last = apply(e, start, engine.Op{Kind: engine.Take, Key: []byte("key"), N: r.n, Params: p})[0]
			highest, granted = max(highest, r.limit), granted+last.Allowed*r.n
		}
		if highest-granted != tt.left {
			t.Errorf("%s: %d left, want %d", tt.name, highest-granted, tt.left)
		}
		if last.Remaining > 0 {
			t.Errorf("%s: %d remaining, but none after another sequence with this state", tt.name, last.Remaining)
		}
		block, _ := e.Export(start, 0, []byte("key"), nil)
		if state == nil {
			state = block
		}
		if !bytes.Equal(block, state) {
			t.Errorf("%s: the state is %x, want %x", tt.name, block, state)
		}
	}
}

// TestOldRateFindsOldState changes an empty bucket to a faster rate and back. A bucket that stored
// permits instead of a time would have earned them at the faster rate.
func TestOldRateFindsOldState(t *testing.T) {
	start := instant("2025-06-15T12:00:05Z")
	slow := engine.Params{Alg: engine.Token, Limit: 100, Count: 1, Period: 36 * second}
	fast := engine.Params{Alg: engine.Token, Limit: 100, Count: 1, Period: second / 100}
	op := engine.Op{Kind: engine.Take, Key: []byte("key"), N: 100, Params: slow}
	changed, same := engine.New(engine.Options{Shards: 1}), engine.New(engine.Options{Shards: 1})
	apply(changed, start, op)
	apply(same, start, op)
	op.Params = fast
	apply(changed, start, op)
	op.Params = slow
	now := start + 2*engine.Instant(second)
	if got, want := apply(changed, now, op)[0],
		apply(same, now, op)[0]; got.Remaining != want.Remaining || got.Wait != want.Wait || got.Allowed != 0 {
		t.Errorf("after a faster rate %+v, without it %+v", got, want)
	}
	a, _ := changed.Export(now, 0, op.Key, nil)
	if b, _ := same.Export(now, 0, op.Key, nil); !bytes.Equal(a, b) {
		t.Errorf("the state is %x, without the change %x", a, b)
	}
}
