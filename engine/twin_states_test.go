package engine_test

import (
	"maps"
	"math/big"
	"slices"
	"sort"
	"time"

	"limitsrv/engine"
)

// bucketTwin is TOKEN and LEAKY: owed permits at an instant, earned back at the rate.
type bucketTwin struct {
	owed *big.Rat
	at   int64
}

func (b *bucketTwin) used(p engine.Params, t int64) *big.Rat {
	earned := new(big.Rat).Mul(whole(t-b.at), big.NewRat(p.Count, p.Period))
	left := new(big.Rat).Sub(b.owed, earned)
	if left.Sign() < 0 {
		return new(big.Rat)
	}
	return left
}

func (b *bucketTwin) wait(p engine.Params, t, n, bound int64) *big.Int {
	lack := new(big.Rat).Add(b.used(p, t), whole(n-bound))
	if lack.Sign() <= 0 {
		return new(big.Int)
	}
	return ceil(lack.Mul(lack, big.NewRat(p.Period, p.Count)))
}

func (b *bucketTwin) take(p engine.Params, t, n int64) {
	b.owed, b.at = new(big.Rat).Add(b.used(p, t), whole(n)), t
}

func (b *bucketTwin) refund(p engine.Params, t, n int64) {
	b.owed, b.at = new(big.Rat).Sub(b.used(p, t), whole(n)), t
	if b.owed.Sign() < 0 {
		b.owed = new(big.Rat)
	}
}

// change keeps what is owed, rounded up to what is earned in 1/Count ns.
func (b *bucketTwin) change(old, p engine.Params, t int64) {
	used := b.used(old, t)
	bound := cutTo(old, p, used)
	parts := new(big.Rat).Mul(used, whole(p.Period))
	b.owed, b.at = new(big.Rat).SetFrac(ceil(parts), big.NewInt(p.Period)), t
	if b.owed.Cmp(whole(bound)) > 0 {
		b.owed = whole(bound)
	}
}

func (b *bucketTwin) clone() twinState {
	return &bucketTwin{owed: new(big.Rat).Set(b.owed), at: b.at}
}

// cutTo is what may stay used when p follows old: the new limit, or twice that
// for a key in debt.
func cutTo(old, p engine.Params, used *big.Rat) int64 {
	if used.Cmp(whole(old.Limit)) > 0 {
		return 2 * p.Limit
	}
	return p.Limit
}

// sameWindow says whether two parameters differ at most in the limit.
func sameWindow(a, b engine.Params) bool {
	return a.Calendar == b.Calendar && (a.Calendar != engine.NoCalendar || a.Period == b.Period)
}

// windowEnd is the end of the window that t lies in.
func windowEnd(p engine.Params, t int64) int64 {
	at := time.Unix(0, t).UTC()
	y, m, d := at.Date()
	day := func(y int, m time.Month, d int) int64 {
		return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).UnixNano()
	}
	switch p.Calendar {
	case engine.Day:
		return day(y, m, d+1)
	case engine.Week:
		for d++; time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Weekday() != time.Monday; d++ {
		}
		return day(y, m, d)
	case engine.Month:
		return day(y, m+1, 1)
	case engine.Year:
		return day(y+1, 1, 1)
	}
	return t - t%p.Period + p.Period
}

// fixedTwin is FIXED: what is used in the window that at lies in.
type fixedTwin struct{ at, count int64 }

func (f *fixedTwin) countAt(p engine.Params, t int64) int64 {
	count := f.count
	for end := windowEnd(p, f.at); t >= end && count > 0; end = windowEnd(p, end) {
		count = max(0, count-p.Limit)
	}
	return count
}

func (f *fixedTwin) used(p engine.Params, t int64) *big.Rat { return whole(f.countAt(p, t)) }

// wait tries the end of each window in turn.
func (f *fixedTwin) wait(p engine.Params, t, n, bound int64) *big.Int {
	at := t
	for f.countAt(p, at)+n > bound {
		at = windowEnd(p, at)
	}
	return big.NewInt(at - t)
}

func (f *fixedTwin) take(p engine.Params, t, n int64) { f.at, f.count = t, f.countAt(p, t)+n }

func (f *fixedTwin) refund(p engine.Params, t, n int64) {
	f.at, f.count = t, max(0, f.countAt(p, t)-n)
}

func (f *fixedTwin) change(old, p engine.Params, t int64) {
	used := f.used(old, t)
	f.at, f.count = t, min(used.Num().Int64(), cutTo(old, p, used))
}

func (f *fixedTwin) clone() twinState { c := *f; return &c }

// slideTwin is SLIDE: the counts of the window that at lies in and of the one before.
type slideTwin struct{ at, prev, cur int64 }

// counts are prev and cur as they are at t.
func (s *slideTwin) counts(p engine.Params, t int64) (prev, cur int64) {
	switch t/p.Period - s.at/p.Period {
	case 0:
		return s.prev, s.cur
	case 1:
		return s.cur, 0
	}
	return 0, 0
}

// overlapped is floor(prev x overlap) at t.
func overlapped(p engine.Params, t, prev int64) int64 {
	left := p.Period - t%p.Period
	x := new(big.Int).Mul(big.NewInt(prev), big.NewInt(left))
	return x.Div(x, big.NewInt(p.Period)).Int64()
}

// largestPrev is the largest count up to prev of which at most most still overlaps at t.
func largestPrev(p engine.Params, t, prev, most int64) int64 {
	return int64(sort.Search(int(prev), func(i int) bool { return overlapped(p, t, int64(i)+1) > most }))
}

func (s *slideTwin) usedAt(p engine.Params, t int64) int64 {
	prev, cur := s.counts(p, t)
	return overlapped(p, t, prev) + cur
}

func (s *slideTwin) used(p engine.Params, t int64) *big.Rat { return whole(s.usedAt(p, t)) }

// wait searches all nanoseconds of the two windows after which nothing is left:
// what is used only falls.
func (s *slideTwin) wait(p engine.Params, t, n, bound int64) *big.Int {
	ns := sort.Search(int(2*p.Period), func(ns int) bool { return s.usedAt(p, t+int64(ns))+n <= bound })
	return big.NewInt(int64(ns))
}

func (s *slideTwin) take(p engine.Params, t, n int64) {
	prev, cur := s.counts(p, t)
	s.at, s.prev, s.cur = t, prev, cur+n
}

func (s *slideTwin) refund(p engine.Params, t, n int64) {
	prev, cur := s.counts(p, t)
	rest := max(0, n-cur)
	if rest > 0 {
		prev = largestPrev(p, t, prev, max(0, overlapped(p, t, prev)-rest))
	}
	s.at, s.prev, s.cur = t, prev, max(0, cur-n)
}

func (s *slideTwin) change(old, p engine.Params, t int64) {
	used := s.used(old, t)
	bound := cutTo(old, p, used)
	prev, cur := s.counts(old, t)
	if !sameWindow(old, p) {
		prev, cur = 0, used.Num().Int64()
	}
	if cur >= bound {
		prev, cur = 0, bound
	} else {
		prev = largestPrev(p, t, prev, bound-cur)
	}
	s.at, s.prev, s.cur = t, prev, cur
}

func (s *slideTwin) clone() twinState { c := *s; return &c }

// logTwin is LOG: all that was ever taken, by time.
type logTwin struct{ entries []logEntry }

type logEntry struct{ at, n int64 }

func (l *logTwin) usedAt(p engine.Params, t int64) int64 {
	sum := int64(0)
	for _, e := range l.entries {
		if t < e.at+p.Period {
			sum += e.n
		}
	}
	return sum
}

func (l *logTwin) used(p engine.Params, t int64) *big.Rat { return whole(l.usedAt(p, t)) }

// wait tries the end of each entry in turn.
func (l *logTwin) wait(p engine.Params, t, n, bound int64) *big.Int {
	at := t
	for i := 0; l.usedAt(p, at)+n > bound; i++ {
		at = max(t, l.entries[i].at+p.Period)
	}
	return big.NewInt(at - t)
}

func (l *logTwin) take(p engine.Params, t, n int64) {
	l.entries = append(l.entries, logEntry{t, n})
}

// refund takes from the newest entries.
func (l *logTwin) refund(_ engine.Params, _, n int64) {
	for i := len(l.entries) - 1; i >= 0; i-- {
		d := min(n, l.entries[i].n)
		l.entries[i].n -= d
		n -= d
	}
}

func (l *logTwin) change(old, p engine.Params, t int64) {
	used := l.usedAt(old, t)
	surplus := used - cutTo(old, p, whole(used))
	l.entries = slices.DeleteFunc(l.entries, func(e logEntry) bool { return t >= e.at+old.Period })
	if !sameWindow(old, p) {
		l.entries = []logEntry{{t, used}}
	}
	for i := 0; surplus > 0; i++ {
		d := min(surplus, l.entries[i].n)
		l.entries[i].n -= d
		surplus -= d
	}
}

func (l *logTwin) clone() twinState { return &logTwin{slices.Clone(l.entries)} }

// acquire takes or renews the place of a holder.
func (t *twin) acquire(op *engine.Op) engine.Decision {
	k := t.find(op.Key)
	switch {
	case k == nil:
		k = &twinKey{holders: map[string]int64{}}
		t.keys[string(op.Key)] = k
	case k.p.Alg != engine.Lease:
		return engine.Decision{Status: engine.WrongType}
	}
	k.p = op.Params
	live := k.ends(t.now)
	end, held := k.holders[string(op.ID)]
	held = held && t.now < end
	d := engine.Decision{Allowed: yes(held || int64(len(live)) < k.p.Limit)}
	if d.Allowed == 1 {
		k.holders[string(op.ID)] = t.now + k.p.Period
		d = t.leaseDecision(k, 1)
		d.Wait = engine.Span{}
	} else {
		d = t.leaseDecision(k, 0)
	}
	if op.Mode&engine.Shadow != 0 {
		d.Allowed = 1
	}
	return d
}

func (t *twin) release(op *engine.Op) engine.Decision {
	k := t.find(op.Key)
	switch {
	case k == nil:
		return engine.Decision{}
	case k.p.Alg != engine.Lease:
		return engine.Decision{Status: engine.WrongType}
	}
	end, held := k.holders[string(op.ID)]
	delete(k.holders, string(op.ID))
	return engine.Decision{Allowed: yes(held && t.now < end)}
}

// live are the holders whose ttl has not ended at t.
func (k *twinKey) live(t int64) map[string]int64 {
	live := maps.Clone(k.holders)
	maps.DeleteFunc(live, func(_ string, end int64) bool { return t >= end })
	return live
}

// ends are the ends of the live holders in order.
func (k *twinKey) ends(t int64) []int64 {
	return slices.Sorted(maps.Values(k.live(t)))
}

// leaseDecision tells how a key of LEASE stands for a new holder, or with
// allowed 1 that it has been let in.
func (t *twin) leaseDecision(k *twinKey, allowed int64) engine.Decision {
	ends := k.ends(t.now)
	d := engine.Decision{Params: k.p, Allowed: allowed}
	d.Remaining = max(0, k.p.Limit-int64(len(ends)))
	if len(ends) > 0 {
		d.Reset = span(big.NewInt(ends[len(ends)-1] - t.now))
	}
	if surplus := int64(len(ends)) - k.p.Limit; surplus >= 0 {
		d.Wait = span(big.NewInt(ends[surplus] - t.now))
	} else {
		d.Allowed = 1
	}
	return d
}
