package engine_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// A law holds for every algorithm, under all parameters. check receives a subject that
// has been in use for a while.
type law struct {
	name  string
	check func(s *subject)
}

var laws = []law{
	{"no more is granted than was earned", lawEarned},
	{"a denial changes nothing", lawDenial},
	{"a wait is exact", lawWait},
	{"a debt is repaid at its wait", lawDebt},
	{"a key expires at its reset and not before", lawReset},
	{"changed parameters grant nothing extra", lawChange},
	{"a clock step back neither refills nor locks out", lawClock},
	{"a read-only op writes nothing", lawLook},
	{"shadow does not affect the state", lawShadow},
	{"partial grants the permits left", lawPartial},
	{"a refund undoes a take", lawRefund},
	{"giving back by age is never looser than not taking", lawGiveBack},
	{"giving back at once leaves the same", lawGiveBackNow},
	{"a charge records what fits", lawCharge},
	{"a group takes all or none", lawGroup},
	{"a fingerprint changes with the state", lawFingerprint},
}

// TestLaws checks every law for every algorithm. A failure names the seed.
func TestLaws(t *testing.T) {
	testwait.Sequential(t)
	for _, a := range algs() {
		for _, l := range laws {
			t.Run(fmt.Sprint(a, "/", l.name), func(t *testing.T) {
				checks := 0
				for seed := range uint64(60) {
					s := newSubject(t, a, seed)
					l.check(s)
					checks += s.checks
				}
				if checks == 0 {
					t.Errorf("%v: nothing was checked", a)
				}
			})
		}
	}
}

// A subject is an engine with a key that has been used under p.
type subject struct {
	t      *testing.T
	r      *rand.Rand
	seed   uint64
	alg    engine.Alg
	e      *engine.Engine
	key    []byte
	p      engine.Params
	now    engine.Instant
	ids    int // number of holders so far
	checks int // number of checks made
}

// newSubject returns the same subject for the same seed.
func newSubject(t *testing.T, a engine.Alg, seed uint64) *subject {
	s := &subject{t: t, r: rand.New(rand.NewPCG(seed, uint64(a))), seed: seed, alg: a, key: []byte("subject")}
	s.p = s.params(a)
	s.e = engine.New(engine.Options{Shards: 1})
	s.now = instant(starts[s.r.IntN(len(starts)-1)])
	for range s.r.IntN(12) {
		s.pass()
		s.ask(s.some(s.p.Limit))
	}
	return s
}

// params draws parameters. Holders are few, so that the leases can be taken one by one.
func (s *subject) params(a engine.Alg) engine.Params {
	data := make([]byte, 16)
	for i := range data {
		data[i] = byte(s.r.Uint32())
	}
	p := drawParams(&source{data}, a)
	if a == engine.Lease {
		p.Limit = 1 + p.Limit%7
	}
	return p
}

// some draws 1 to limit permits, often few or all.
func (s *subject) some(limit int64) int64 {
	return min(limit, []int64{1, 1 + s.r.Int64N(3), 1 + s.r.Int64N(limit), limit}[s.r.IntN(4)])
}

// span returns the approximate time until the limit is earned back, at most 10 years.
func (s *subject) span() int64 {
	switch {
	case s.p.Calendar != engine.NoCalendar:
		return []int64{day, 7 * day, 30 * day, 365 * day}[s.p.Calendar-1]
	case s.p.Count > 0:
		full := new(big.Rat).Mul(whole(s.p.Limit), big.NewRat(s.p.Period, s.p.Count))
		if ns := ceil(full); ns.IsInt64() {
			return min(ns.Int64(), engine.MaxPeriod)
		}
		return engine.MaxPeriod
	}
	return s.p.Period
}

// pass advances the time a little.
func (s *subject) pass() {
	whole := s.span()
	part := []int64{1, 1, 1 + whole/s.p.Limit, 1 + whole/16, 1 + whole/2}[s.r.IntN(5)]
	s.now += engine.Instant(s.r.Int64N(part + 1))
}

func (s *subject) do(op engine.Op) engine.Decision {
	op.Key = s.key
	return apply(s.e, s.now, op)[0]
}

// asking returns the op that requests n permits, or a lease for a new holder.
func (s *subject) asking(n int64) engine.Op {
	if s.alg == engine.Lease {
		s.ids++
		return engine.Op{Kind: engine.Acquire, Params: s.p, N: 1, ID: fmt.Appendf(nil, "holder %d", s.ids)}
	}
	return engine.Op{Kind: engine.Take, Params: s.p, N: n}
}

func (s *subject) ask(n int64) engine.Decision { return s.do(s.asking(n)) }

func (s *subject) peek() engine.Decision { return s.do(engine.Op{Kind: engine.Peek}) }

func (s *subject) print() int64 { return s.e.Fingerprint(s.now, 0, s.key) }

// fill requests permits until no permit is left.
func (s *subject) fill() {
	left := s.p.Limit
	if d := s.peek(); d.Status == engine.OK {
		left = d.Remaining
	}
	if s.alg != engine.Lease {
		s.ask(left)
		return
	}
	for range left {
		s.ask(1)
	}
}

// permits reports whether the algorithm has permits to refund; if not, it checks that it
// rejects refunds.
func (s *subject) permits() bool {
	if s.alg != engine.Lease {
		return true
	}
	s.fill()
	for _, kind := range []engine.Kind{engine.Refund, engine.Charge, engine.Take} {
		d := s.do(engine.Op{Kind: kind, N: 1, Params: engine.Params{Limit: 1, Count: 1, Period: second}})
		s.expect(d.Status == engine.WrongType, "kind %d on a key of %v: status %d", kind, s.alg, d.Status)
	}
	return false
}

// expect counts a check and fails unless ok.
func (s *subject) expect(ok bool, format string, args ...any) {
	s.t.Helper()
	s.checks++
	if !ok {
		s.t.Fatalf("seed %d, %+v at %d: %s", s.seed, s.p, s.now, fmt.Sprintf(format, args...))
	}
}

// sameFromNow checks that two subjects give the same answers from now on.
func (s *subject) sameFromNow(o *subject) {
	s.t.Helper()
	for i := range 20 {
		n := s.some(s.p.Limit)
		op := s.asking(n)
		switch s.r.IntN(6) {
		case 0:
			op = engine.Op{Kind: engine.Peek}
		case 1:
			op = engine.Op{Kind: engine.Charge, N: n}
		case 2:
			op = engine.Op{Kind: engine.Refund, N: n}
		}
		o.now = s.now
		got, want := s.do(op), o.do(op)
		s.expect(got == want, "op %d from then on, %s\n got %+v\nwant %+v", i, opString(&op), got, want)
		s.pass()
	}
}

// apply applies ops in a batch.
func apply(e *engine.Engine, now engine.Instant, ops ...engine.Op) []engine.Decision {
	b := engine.Batch{Ops: ops}
	e.Apply(now, &b)
	for i := range b.Decisions {
		b.Decisions[i].Changed = false // describes the state, is not part of the answer
	}
	return b.Decisions
}

// earned returns the most permits that may be granted from one instant to another: those
// left at first and those earned back meanwhile.
func earned(p engine.Params, from, to engine.Instant) *big.Rat {
	limit, span, earns := whole(p.Limit), int64(to-from), oneByOne
	if p.Alg.IsCounted() {
		earns = referenceOf(p.Alg).earns
	}
	switch earns {
	case continuously:
		return limit.Add(limit, new(big.Rat).Mul(whole(span), big.NewRat(p.Count, p.Period)))
	case oneByOne:
		return limit.Mul(limit, whole(1+span/p.Period))
	}
	touched := int64(1)
	for end := windowEnd(p, int64(from)); end <= int64(to); end = windowEnd(p, end) {
		touched++
	}
	return limit.Mul(limit, whole(touched))
}

func lawEarned(s *subject) {
	s.key = []byte("another")
	var grants []logEntry
	for range 40 {
		n := s.some(s.p.Limit)
		if s.alg == engine.Lease {
			n = 1
		}
		d := s.ask(n)
		if d.Allowed == 1 {
			grants = append(grants, logEntry{int64(s.now), n})
		} else if s.r.IntN(2) == 0 && d.Wait.Millis < s.span()/1e6 {
			s.now += engine.Instant(nanos(d.Wait))
		}
		s.pass()
	}
	for i, first := range grants {
		sum := new(big.Rat)
		for _, last := range grants[i:] {
			sum.Add(sum, whole(last.n))
			most := earned(s.p, engine.Instant(first.at), engine.Instant(last.at))
			s.expect(sum.Cmp(most) <= 0, "granted %v from %d to %d, want at most %v", sum, first.at, last.at, most)
		}
	}
}

func lawDenial(s *subject) {
	other := newSubject(s.t, s.alg, s.seed)
	s.fill()
	other.fill()
	print := s.print()
	for _, n := range []int64{1, s.p.Limit, s.p.Limit + 1} {
		d := s.ask(n)
		s.expect(d.Allowed == 0, "%d more than all: %+v", n, d)
		s.expect(s.print() == print, "a denial of %d changed the fingerprint", n)
	}
	s.sameFromNow(other)
}

func lawWait(s *subject) {
	s.fill()
	n := s.some(s.p.Limit)
	d := s.ask(n)
	s.expect(d.Allowed == 0 && d.Wait != engine.Never && d.Wait != engine.Span{}, "%d of a full key: %+v", n, d)
	if s.alg != engine.Lease {
		never := s.ask(s.p.Limit + 1)
		s.expect(never.Allowed == 0 && never.Wait == engine.Never, "more than the limit: %+v", never)
	}
	if d.Wait.Millis > (lastTime-int64(s.now))/1e6-1 {
		return
	}
	start := s.now
	s.now = start + engine.Instant((d.Wait.CeilMillis()-1)*1e6)
	early := s.ask(n)
	s.expect(early.Allowed == 0, "%d a millisecond before its wait of %v: %+v", n, d.Wait, early)
	s.now = start + engine.Instant(nanos(d.Wait)-1)
	early = s.ask(n)
	s.expect(early.Allowed == 0 && early.Wait == engine.Span{Nanos: 1}, "%d a nanosecond before its wait of %v: %+v", n,
		d.Wait, early)
	s.now++
	late := s.ask(n)
	s.expect(late.Allowed == 1, "%d after its wait of %v: %+v", n, d.Wait, late)
}

func lawDebt(s *subject) {
	if !s.permits() {
		return
	}
	s.fill()
	limit := s.p.Limit
	n := s.some(limit)
	d := s.do(engine.Op{Kind: engine.Charge, N: n})
	s.expect(d.Allowed == 1 && d.Remaining == 0 && d.Wait != engine.Span{}, "a charge of %d on a full key: %+v", n, d)
	again := s.do(engine.Op{Kind: engine.Charge, N: limit - n + 1})
	s.expect(again.Allowed == 0, "charged beyond twice the limit: %+v", again)
	if d.Wait.Millis > (lastTime-int64(s.now))/1e6-1 {
		return
	}
	s.now += engine.Instant(nanos(d.Wait) - 1)
	early := s.do(engine.Op{Kind: engine.Charge, N: limit})
	s.expect(early.Allowed == 0 && early.Wait == engine.Span{Nanos: 1},
		"one limit more, a nanosecond before a debt of %d is repaid in %v: %+v", n, d.Wait, early)
	s.now++
	late := s.do(engine.Op{Kind: engine.Charge, N: limit})
	s.expect(late.Allowed == 1 || late.Status == engine.Missing, "one limit more when a debt of %d is repaid: %+v", n,
		late)
}

func lawReset(s *subject) {
	s.ask(1)
	d := s.peek()
	s.expect(d.Status == engine.OK && d.Reset != engine.Span{}, "a used key: %+v", d)
	if d.Reset.Millis > (lastTime-int64(s.now))/1e6-1 {
		return
	}
	s.now += engine.Instant(nanos(d.Reset) - 1)
	s.e.SweepExpired(s.now, 1<<10)
	early := s.peek()
	s.expect(early.Status == engine.OK && early.Reset == engine.Span{Nanos: 1}, "a nanosecond before reset: %+v", early)
	s.expect(s.print() != 0, "no fingerprint a nanosecond before reset")
	s.now++
	if s.r.IntN(2) == 0 {
		s.e.SweepExpired(s.now, 1<<10)
		s.expect(s.e.Len() == 0, "%d keys after a sweep", s.e.Len())
	}
	late := s.peek()
	s.expect(late.Status == engine.Missing && s.print() == 0 && s.e.KeyBytes(s.now, 0, s.key) == 0, "at reset: %+v", late)
	fresh := newSubject(s.t, s.alg, s.seed)
	fresh.e = engine.New(engine.Options{Shards: 1})
	s.alg = algs()[s.r.IntN(len(algs()))]
	s.p = s.params(s.alg)
	s.sameFromNow(fresh)
}

// lawChange requests permits at an instant under many parameters. Permits in use stay in
// use. For a bucket, the time when it is full stays the same. Its permits count at the
// faster of the rate in force and the fastest rate that permits were taken with.
func lawChange(s *subject) {
	s.ask(1)
	d := s.peek()
	used, permit, fastest := whole(s.p.Limit-d.Remaining), whole(1), whole(1)
	if s.p.Count > 0 { // the last permit may be partly back: count in ns
		s.do(engine.Op{Kind: engine.Forget})
		s.ask(s.p.Limit)
		used, permit = whole(s.p.Limit), big.NewRat(s.p.Period, s.p.Count)
		used.Mul(used, permit)
		fastest = permit
	}
	for range 10 {
		before := s.p
		for s.p == before {
			s.p = s.params(s.alg)
		}
		if s.p.Count > 0 {
			permit = big.NewRat(s.p.Period, s.p.Count)
		}
		each := permit // of the permits used
		if fastest.Cmp(each) < 0 {
			each = fastest
		}
		room := new(big.Rat).Quo(used, each)
		room.Sub(whole(s.p.Limit), room)
		d := s.ask(1)
		want := yes(room.Cmp(whole(1)) >= 0)
		if want == 1 {
			used.Add(used, permit)
			fastest = each
			room.Sub(whole(s.p.Limit), new(big.Rat).Quo(used, each))
		}
		left := int64(0)
		if room.Sign() > 0 {
			left = floor(room).Int64()
		}
		s.expect(d.Allowed == want && d.Remaining == left, "after %+v, with %v left: %+v", before, room, d)
		s.expect(d.Params == s.p && s.peek().Params == s.p, "new parameters are not in force: %+v", d)
	}
}

func lawClock(s *subject) {
	s.fill()
	d := s.ask(1)
	start := s.now
	for _, back := range []int64{1, 1e6, s.span(), int64(start)} {
		s.now = max(0, start-engine.Instant(back))
		s.e.SweepExpired(s.now, 1<<10)
		if got := s.ask(1); got != d {
			s.expect(false, "clock set back by %d\n got %+v\nwant %+v", back, got, d)
		}
	}
	s.now = start
	if d.Wait.Millis > (lastTime-int64(s.now))/1e6-1 {
		return
	}
	s.now += engine.Instant(nanos(d.Wait))
	late := s.ask(1)
	s.expect(late.Allowed == 1, "clock at the wait that was answered: %+v", late)
}
