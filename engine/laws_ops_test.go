package engine_test

import (
	"fmt"

	"limitsrv/engine"
)

func lawLook(s *subject) {
	other := newSubject(s.t, s.alg, s.seed)
	s.fill()
	other.fill()
	print, full := s.print(), s.peek()
	s.expect(s.print() == print, "a peek changed the fingerprint")
	if s.alg != engine.Lease {
		for range 5 {
			look := engine.Op{Kind: engine.Take, Params: s.params(s.alg), Mode: engine.Mode(s.r.IntN(4))}
			d := s.do(look)
			s.expect(d.Allowed == yes(look.Mode&engine.Partial == 0) && d.Params == look.Params,
				"a read-only take under %+v: %+v", look.Params, d)
			s.expect(s.print() == print && s.peek() == full, "a read-only take under %+v changed the key", look.Params)
		}
		keys, key := s.e.Len(), s.key
		s.key = []byte("not there")
		d := s.ask(0)
		want := engine.Decision{Params: s.p, Allowed: 1, Remaining: s.p.Limit}
		s.expect(d == want, "a read-only take of a missing key\n got %+v\nwant %+v", d, want)
		s.expect(s.e.Len() == keys && s.peek().Status == engine.Missing, "a read-only take created a key")
		s.key = key
	}
	s.sameFromNow(other)
}

func lawShadow(s *subject) {
	other := newSubject(s.t, s.alg, s.seed)
	for range 20 {
		n := s.some(s.p.Limit)
		op := s.asking(n)
		partial := engine.Mode(s.r.IntN(2)) * engine.Partial
		op.Mode = partial | engine.Shadow
		got := s.do(op)
		op.Mode = partial
		other.now = s.now
		want := other.do(op)
		want.Allowed = 1
		if partial != 0 {
			want.Allowed = op.N
		}
		s.expect(got == want, "shadow of %d\n got %+v\nwant %+v", n, got, want)
		s.pass()
	}
	s.sameFromNow(other)
}

func lawPartial(s *subject) {
	for range 20 {
		free := s.p.Limit
		if d := s.peek(); d.Status == engine.OK {
			free = d.Remaining
		}
		n := 1 + s.r.Int64N(2*s.p.Limit)
		op := s.asking(n)
		op.Mode = engine.Partial
		d := s.do(op)
		s.expect(d.Allowed == min(op.N, free) && d.Remaining == free-d.Allowed, "%d with %d free: %+v", op.N, free, d)
		if d.Allowed > 0 && !s.alg.Holds() {
			s.expect(d.Wait == engine.Span{}, "a grant has a wait: %+v", d)
		}
		if d.Allowed == 0 {
			one := s.ask(1)
			s.expect(one.Allowed == 0 && one.Wait == d.Wait, "no permit is free: partial %+v, one %+v", d, one)
		}
		s.pass()
	}
}

func lawRefund(s *subject) {
	if !s.permits() {
		return
	}
	other := newSubject(s.t, s.alg, s.seed)
	s.ask(1)
	other.ask(1) // so that the key is live after the refund
	n := s.some(s.p.Limit)
	if s.ask(n).Allowed == 0 {
		return
	}
	d := s.do(engine.Op{Kind: engine.Refund, N: n})
	s.expect(d.Allowed == 1 && d == other.do(engine.Op{Kind: engine.Refund}), "after a refund of %d: %+v", n, d)
	s.sameFromNow(other)
	s.do(engine.Op{Kind: engine.Refund, N: 3 * s.p.Limit})
	s.expect(s.peek().Status == engine.Missing, "refunded all, but the key exists: %+v", s.peek())
}

// lawGroup takes groups over keys of the same algorithm, some of them twice.
func lawGroup(s *subject) {
	if !s.permits() {
		return
	}
	type member struct {
		key         string
		p           engine.Params
		free, asked int64
		print       int64
	}
	members := make([]member, 3)
	for range 20 {
		for i := range members {
			m := &members[i]
			if m.key == "" {
				*m = member{key: fmt.Sprint("member ", i), p: s.params(s.alg)}
			}
			s.key, m.asked, m.free = []byte(m.key), 0, m.p.Limit
			if d := s.peek(); d.Status == engine.OK {
				m.free = d.Remaining
			}
			m.print = s.print()
		}
		ops := make([]engine.Op, 2+s.r.IntN(4))
		for i := range ops {
			m := &members[s.r.IntN(len(members))]
			n := 1 + s.r.Int64N(1+m.p.Limit/2)
			m.asked += n
			ops[i] = engine.Op{Kind: engine.Take, Params: m.p, N: n, Key: []byte(m.key)}
		}
		ops[0].Group = uint8(len(ops))
		passed := true
		for _, d := range apply(s.e, s.now, ops...) {
			passed = passed && d.Allowed == 1
		}
		fits := true
		for _, m := range members {
			fits = fits && m.asked <= m.free
		}
		s.expect(passed == fits, "a group of %+v passed: %t, fits: %t", members, passed, fits)
		for _, m := range members {
			s.key = []byte(m.key)
			switch {
			case !passed || m.asked == 0:
				s.expect(s.print() == m.print, "%s changed, the group passed: %t", m.key, passed)
			default:
				d := s.peek()
				s.expect(d.Remaining == m.free-m.asked, "%s had %d, group took %d: %+v", m.key, m.free, m.asked, d)
			}
		}
		s.pass()
	}
}

func lawFingerprint(s *subject) {
	change := func(name string, op engine.Op) {
		before := s.print()
		d := s.do(op)
		s.expect(d.Status == engine.OK && s.print() != before, "fingerprint %d is unchanged by the %s", before, name)
	}
	s.do(engine.Op{Kind: engine.Forget})
	s.expect(s.print() == 0, "the fingerprint of a missing key is %d", s.print())
	change("ask", s.asking(1))
	print := s.print()
	s.e.SweepExpired(s.now, 1<<10)
	s.expect(s.print() == print, "a sweep changed the fingerprint")
	if s.alg == engine.Lease {
		s.now++
		change("renew", engine.Op{Kind: engine.Acquire, Params: s.p, ID: fmt.Appendf(nil, "holder %d", s.ids), N: 1})
	} else {
		change("charge", engine.Op{Kind: engine.Charge, N: s.p.Limit})
		if s.p.Limit > 1 {
			change("refund", engine.Op{Kind: engine.Refund, N: 1})
		}
	}
	old := s.p
	for s.p == old {
		s.p = s.params(s.alg)
	}
	s.ask(1) // new parameters are in force even if it is denied
	if s.p.Limit--; s.p.Limit == 0 {
		s.p.Limit = 2
	}
	change("new parameters", s.asking(1))
	s.roundTrips()

	expect := engine.Op{Kind: engine.Expect, N: s.print() + 1, Key: s.key}
	other := engine.Op{Kind: engine.Take, Params: drawParams(&source{[]byte{1, 1, 1, 1, 1, 1}}, engine.Token), N: 1,
		Key: []byte("other")}
	batch := engine.Batch{Ops: []engine.Op{expect, other}, Atomic: true}
	s.e.Apply(s.now, &batch)
	s.expect(batch.Decisions[0].Status == engine.Aborted && s.e.Fingerprint(s.now, 0, other.Key) == 0,
		"expected another fingerprint: %+v", batch.Decisions)
	batch.Reset()
	batch.Ops, batch.Atomic = append(batch.Ops, expect, other), true
	batch.Ops[0].N--
	s.e.Apply(s.now, &batch)
	s.expect(batch.Decisions[0].Status == engine.OK && batch.Decisions[1].Allowed == 1,
		"expected the current fingerprint: %+v", batch.Decisions)
}

// roundTrips changes the key in several steps so that most of it, but not all, is as
// before at the end.
func (s *subject) roundTrips() {
	s.fill()
	print, before := s.print(), s.peek()
	limit := s.p.Limit
	s.p.Limit = 1
	s.ask(2) // the limit is below the permits used
	s.p.Limit = limit
	s.ask(limit + 1)
	after := s.peek()
	s.expect((s.print() == print) == (after == before), "a lower limit and back\n from %+v\nto   %+v\nfingerprints %d, %d",
		before, after, print, s.print())

	s.do(engine.Op{Kind: engine.Forget})
	s.ask(1)
	print = s.print()
	s.do(engine.Op{Kind: engine.Forget})
	s.now++
	s.ask(1)
	if isListed(s.alg) {
		s.expect(s.print() != print, "the key was forgotten and created a nanosecond later, but fingerprint is %d again",
			print)
	}
}
