package engine_test

import "limitsrv/engine"

// lawGiveBack compares two keys. The first gives back some takes by their age; the second never
// took them. The first must at no time have more permits left.
func lawGiveBack(s *subject) {
	if !s.permits() {
		return
	}
	type extra struct {
		at engine.Instant
		n  int64
	}
	var (
		other  = newSubject(s.t, s.alg, s.seed)
		extras []extra
	)
	for range 60 {
		s.pass()
		other.now = s.now
		switch n := s.some(s.p.Limit); s.r.IntN(3) {
		case 0:
			if s.ask(n).Allowed == 1 {
				s.expect(other.ask(n).Allowed == 1, "a take of %d passes only on the key with more takes", n)
			}
		case 1:
			if s.ask(n).Allowed == 1 {
				extras = append(extras, extra{s.now, n})
			}
		default:
			if len(extras) == 0 {
				continue
			}
			i := s.r.IntN(len(extras))
			back := engine.Op{Kind: engine.Refund, Mode: engine.Fit, N: extras[i].n}
			back.SetAge(int64(s.now-extras[i].at) + s.r.Int64N(3))
			s.do(back)
			extras = append(extras[:i], extras[i+1:]...)
		}
		s.expect(s.remaining() <= other.remaining(), "%d left, but %d of a key without the takes that were given back",
			s.remaining(), other.remaining())
	}
}

// remaining returns the permits left.
func (s *subject) remaining() int64 {
	if d := s.peek(); d.Status == engine.OK {
		return d.Remaining
	}
	return s.p.Limit
}

// lawGiveBackNow gives a take back at once, without its age: the same is left, and later no more.
func lawGiveBackNow(s *subject) {
	if !s.permits() {
		return
	}
	other := newSubject(s.t, s.alg, s.seed)
	for range 20 {
		s.pass()
		other.now = s.now
		left := s.remaining()
		if n := s.some(s.p.Limit); s.ask(n).Allowed == 1 {
			d := s.do(engine.Op{Kind: engine.Refund, Mode: engine.Fit, N: n})
			s.expect(d.Allowed == 1 && s.remaining() == left, "%d taken and given back: %+v, %d were left before", n, d, left)
		}
		s.pass()
		other.now = s.now
		s.expect(s.remaining() <= other.remaining(), "%d left, but %d of a key without the take", s.remaining(),
			other.remaining())
		if n := s.some(s.p.Limit); s.ask(n).Allowed == 1 {
			other.ask(n)
		}
	}
}

// lawCharge: a charge records as much as fits below two limits in use, and its wait is the time
// until the debt is repaid.
func lawCharge(s *subject) {
	if !s.permits() {
		return
	}
	for range 20 {
		s.pass()
		left := s.remaining()
		n := 1 + s.r.Int64N(3*s.p.Limit)
		op := engine.Op{Kind: engine.Charge, Mode: engine.Partial, Params: s.p, N: n}
		if s.r.IntN(2) == 0 {
			op.Mode = engine.Fit
		}
		d := s.do(op)
		if left > 0 { // else a debt may be due
			want := min(n, s.p.Limit+left)
			if op.Mode == engine.Fit {
				want = yes(n == want)
			}
			s.expect(d.Status == engine.OK && d.Allowed == want, "charged %d with %d left: %+v", n, left, d)
			s.expect((d.Wait == engine.Span{}) == (n <= left), "charged %d with %d left, wait %+v", n, left, d.Wait)
		}
		s.expect(d.Remaining == s.remaining(), "%d left, %+v", s.remaining(), d)
	}
}
