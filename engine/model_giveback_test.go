package engine_test

import (
	"math/big"

	"limitsrv/engine"
)

// What the models of the algorithms give back, see modelState.

func (b *bucketModel) giveBack(p engine.Params, t, since, n int64) bool {
	back := new(big.Rat).Quo(whole(n), b.rate(p, t))
	if since >= 0 {
		back.Sub(back, whole(t-since))
	}
	if back.Sign() <= 0 {
		return false
	}
	b.move(t, back.Neg(back))
	return true
}

func (f *fixedModel) giveBack(p engine.Params, t, since, n int64) bool {
	end, count, debt := f.counts(p, t)
	if since >= 0 && (count == 0 || windowEnd(p, since) != end) {
		return false
	}
	held := int64(0)
	if since < 0 {
		held = min(max(0, n-count), f.held.at(t))
		f.held.refund(t, held)
	}
	n = min(n, count)
	f.end, f.count, f.debt = end, count-n, max(0, debt-n)
	return n+held > 0
}

func (s *slideModel) giveBack(p engine.Params, t, since, n int64) bool {
	prev, cur := s.counts(p, t)
	start := t - t%p.Period
	held := int64(0)
	if since < 0 {
		held = min(max(0, n-s.counted(p, t)), s.held.at(t))
		s.held.refund(t, held)
	}
	var given int64
	switch {
	case since < 0 || since >= start:
		given = min(n, cur)
		cur -= given
	case since >= start-p.Period:
		given = min(n, prev)
		prev -= given
	}
	s.at, s.prev, s.cur = t, prev, cur
	return given+held > 0
}

// giveBack takes from the oldest entries.
func (l *logModel) giveBack(p engine.Params, t, since, n int64) bool {
	if since >= 0 && since+p.Period <= t {
		return false
	}
	rest := n
	for i := range l.entries {
		if e := &l.entries[i]; e.at >= since && t < e.at+p.Period {
			d := min(rest, e.n)
			e.n -= d
			rest -= d
		}
	}
	if since < 0 {
		held := min(rest, l.held.at(t))
		l.held.refund(t, held)
		rest -= held
	}
	return rest < n
}
