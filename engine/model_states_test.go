package engine_test

import (
	"maps"
	"math/big"
	"slices"
	"sort"
	"time"

	"limitsrv/engine"
)

// bucketModel is TOKEN and LEAKY: the time when the bucket is full, in ns, and the fastest
// rate of permits taken since it was full, in permits per ns.
type bucketModel struct{ full, fastest *big.Rat }

func newBucket() modelState { return &bucketModel{new(big.Rat), new(big.Rat)} }

// owed returns the ns from t until the bucket is full.
func (b *bucketModel) owed(t int64) *big.Rat {
	left := new(big.Rat).Sub(b.full, whole(t))
	if left.Sign() < 0 {
		return new(big.Rat)
	}
	return left
}

// rate returns the rate for counting permits, so that no fewer are used than were taken.
func (b *bucketModel) rate(p engine.Params, t int64) *big.Rat {
	rate := big.NewRat(p.Count, p.Period)
	if b.owed(t).Sign() > 0 && b.fastest.Cmp(rate) > 0 {
		return b.fastest
	}
	return rate
}

func (b *bucketModel) used(p engine.Params, t int64) *big.Rat {
	left := b.owed(t)
	return left.Mul(left, b.rate(p, t))
}

func (b *bucketModel) wait(p engine.Params, t, n, bound int64) *big.Int {
	lack := new(big.Rat).Add(b.used(p, t), whole(n-bound))
	if lack.Sign() <= 0 {
		return new(big.Int)
	}
	return ceil(lack.Quo(lack, b.rate(p, t)))
}

func (b *bucketModel) take(p engine.Params, t, n int64) {
	if n == 0 {
		return
	}
	b.fastest = new(big.Rat).Set(b.rate(p, t))
	b.move(t, new(big.Rat).Mul(whole(n), big.NewRat(p.Period, p.Count)))
}

func (b *bucketModel) refund(p engine.Params, t, n int64) {
	b.move(t, new(big.Rat).Quo(whole(-n), b.rate(p, t)))
}

// move delays the time when the bucket is full by some ns.
func (b *bucketModel) move(t int64, ns *big.Rat) {
	b.full = ns.Add(ns, b.owed(t))
	b.full.Add(b.full, whole(t))
}

// change: the bucket is full at the same time under all parameters.
func (b *bucketModel) change(_, _ engine.Params, _ int64) {}

func (b *bucketModel) clone() modelState { return &bucketModel{new(big.Rat).Set(b.full), b.fastest} }

// heldModel is permits that were used in a longer window than the current window: all of
// them count until the latest of the ends.
type heldModel struct{ n, end int64 }

func (h *heldModel) at(t int64) int64 {
	if t < h.end {
		return h.n
	}
	return 0
}

func (h *heldModel) add(t, n, end int64) {
	if h.at(t) > 0 {
		end = max(end, h.end)
	}
	*h = heldModel{h.at(t) + n, end}
}

// refund returns n permits, or all that are held.
func (h *heldModel) refund(t, n int64) {
	*h = heldModel{max(0, h.at(t)-n), h.end}
}

// firstAt returns the ns from t until the used permits are at most most: the first of some
// instants, in any order, that satisfies this.
func firstAt(t, most int64, used func(int64) int64, instants ...int64) *big.Int {
	slices.Sort(instants)
	for _, at := range append([]int64{t}, instants...) {
		if at >= t && used(at) <= most {
			return big.NewInt(at - t)
		}
	}
	panic("the permits never expire")
}

// sameWindow reports whether two parameters differ at most in the limit.
func sameWindow(a, b engine.Params) bool {
	return a.Calendar == b.Calendar && (a.Calendar != engine.NoCalendar || a.Period == b.Period)
}

// windowEnd returns the end of the window that contains t.
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

// fixedModel is FIXED: the permits used in the window that ends at end, and the number of
// them that were charged beyond the limit and also count in the next window.
type fixedModel struct {
	end, count, debt int64
	held             heldModel
}

// counts returns end, count and debt at t.
func (f *fixedModel) counts(p engine.Params, t int64) (end, count, debt int64) {
	switch {
	case t < f.end:
		return f.end, f.count, f.debt
	case t < windowEnd(p, f.end):
		return windowEnd(p, t), f.debt, 0
	}
	return windowEnd(p, t), 0, 0
}

func (f *fixedModel) usedAt(p engine.Params, t int64) int64 {
	_, count, _ := f.counts(p, t)
	return count + f.held.at(t)
}

func (f *fixedModel) used(p engine.Params, t int64) *big.Rat { return whole(f.usedAt(p, t)) }

func (f *fixedModel) wait(p engine.Params, t, n, bound int64) *big.Int {
	end, _, _ := f.counts(p, t)
	return firstAt(t, bound-n, func(at int64) int64 { return f.usedAt(p, at) }, end, windowEnd(p, end), f.held.end)
}

func (f *fixedModel) take(p engine.Params, t, n int64) {
	beyond := func() int64 { return max(0, f.usedAt(p, t)-p.Limit) }
	before := beyond()
	f.end, f.count, f.debt = f.counts(p, t)
	f.count += n
	f.debt += beyond() - before
}

func (f *fixedModel) refund(p engine.Params, t, n int64) {
	f.end, f.count, f.debt = f.counts(p, t)
	f.held.refund(t, max(0, n-f.count))
	f.count, f.debt = max(0, f.count-n), max(0, f.debt-n)
}

// change: the permits used count in the current window of p, and until the later of the
// two ends.
func (f *fixedModel) change(old, p engine.Params, t int64) {
	if sameWindow(old, p) {
		return
	}
	end, count, debt := f.counts(old, t)
	f.end, f.count, f.debt = windowEnd(p, t), count, debt
	if end <= f.end || count == 0 {
		return
	}
	if debt > 0 {
		end = windowEnd(old, end)
	}
	f.held.add(t, count, end)
	f.count, f.debt = 0, 0
}

func (f *fixedModel) clone() modelState { c := *f; return &c }

// slideModel is SLIDE: the counts of the window that contains at and of the previous
// window.
type slideModel struct {
	at, prev, cur int64
	held          heldModel
}

// counts returns prev and cur at t.
func (s *slideModel) counts(p engine.Params, t int64) (prev, cur int64) {
	switch t/p.Period - s.at/p.Period {
	case 0:
		return s.prev, s.cur
	case 1:
		return s.cur, 0
	}
	return 0, 0
}

// sameCounts reports whether x and s have the same counts at t. A share is rounded down, so that
// other counts can have the same permits in use now and others later.
func (s *slideModel) sameCounts(p engine.Params, x *slideModel, t int64) bool {
	prev, cur := s.counts(p, t)
	xPrev, xCur := x.counts(p, t)
	return prev == xPrev && cur == xCur
}

// overlapped returns floor(prev x overlap) at t.
func overlapped(p engine.Params, t, prev int64) int64 {
	left := p.Period - t%p.Period
	x := new(big.Int).Mul(big.NewInt(prev), big.NewInt(left))
	return x.Div(x, big.NewInt(p.Period)).Int64()
}

// largestPrev returns the largest count up to prev that has at most most permits in the
// overlap at t.
func largestPrev(p engine.Params, t, prev, most int64) int64 {
	return int64(sort.Search(int(prev), func(i int) bool { return overlapped(p, t, int64(i)+1) > most }))
}

// counted returns the permits used, without those held.
func (s *slideModel) counted(p engine.Params, t int64) int64 {
	prev, cur := s.counts(p, t)
	return overlapped(p, t, prev) + cur
}

func (s *slideModel) usedAt(p engine.Params, t int64) int64 { return s.counted(p, t) + s.held.at(t) }

func (s *slideModel) used(p engine.Params, t int64) *big.Rat { return whole(s.usedAt(p, t)) }

// wait searches all nanoseconds of two windows; then only the permits held are left, and it
// searches until these end. The permits used only fall.
func (s *slideModel) wait(p engine.Params, t, n, bound int64) *big.Int {
	most := max(2*p.Period, s.held.end-t)
	ns := sort.Search(int(most), func(ns int) bool { return s.usedAt(p, t+int64(ns))+n <= bound })
	return big.NewInt(int64(ns))
}

func (s *slideModel) take(p engine.Params, t, n int64) {
	prev, cur := s.counts(p, t)
	s.at, s.prev, s.cur = t, prev, cur+n
}

func (s *slideModel) refund(p engine.Params, t, n int64) {
	s.held.refund(t, max(0, n-s.counted(p, t)))
	prev, cur := s.counts(p, t)
	rest := max(0, n-cur)
	if rest > 0 {
		prev = largestPrev(p, t, prev, max(0, overlapped(p, t, prev)-rest))
	}
	s.at, s.prev, s.cur = t, prev, max(0, cur-n)
}

// change: the permits used count in the current window of p. If their share there would
// at any time be smaller than in their own windows, they are held until they have left
// both.
func (s *slideModel) change(old, p engine.Params, t int64) {
	if sameWindow(old, p) {
		return
	}
	_, cur := s.counts(old, t)
	count := s.counted(old, t)
	s.at, s.prev, s.cur = t, 0, count
	ends, left := windowEnd(old, t), windowEnd(old, t)
	if cur > 0 {
		left += old.Period
	}
	if count > 0 && (old.Period > p.Period || ends > windowEnd(p, t)) {
		s.held.add(t, count, max(left, windowEnd(p, t)+p.Period))
		s.cur = 0
	}
}

func (s *slideModel) clone() modelState { c := *s; return &c }

// logModel is LOG: all permits ever taken, by time.
type logModel struct {
	entries []logEntry
	held    heldModel
}

type logEntry struct{ at, n int64 }

func (l *logModel) usedAt(p engine.Params, t int64) int64 {
	sum := l.held.at(t)
	for _, e := range l.entries {
		if t < e.at+p.Period {
			sum += e.n
		}
	}
	return sum
}

func (l *logModel) used(p engine.Params, t int64) *big.Rat { return whole(l.usedAt(p, t)) }

// wait tries the end of each entry in turn.
func (l *logModel) wait(p engine.Params, t, n, bound int64) *big.Int {
	ends := []int64{l.held.end}
	for _, e := range l.entries {
		ends = append(ends, e.at+p.Period)
	}
	return firstAt(t, bound-n, func(at int64) int64 { return l.usedAt(p, at) }, ends...)
}

func (l *logModel) take(p engine.Params, t, n int64) {
	l.entries = append(l.entries, logEntry{t, n})
}

// refund takes from the newest entries, and then from the permits held.
func (l *logModel) refund(p engine.Params, t, n int64) {
	for i := len(l.entries) - 1; i >= 0; i-- {
		if e := &l.entries[i]; t < e.at+p.Period {
			d := min(n, e.n)
			e.n -= d
			n -= d
		}
	}
	l.held.refund(t, n)
}

// change: an entry counts until the later of its ends in the two windows. After a change
// from a longer window, all entries count until the last of these ends.
func (l *logModel) change(old, p engine.Params, t int64) {
	l.entries = slices.DeleteFunc(l.entries, func(e logEntry) bool { return e.n == 0 || t >= e.at+old.Period })
	if p.Period >= old.Period {
		return
	}
	for _, e := range l.entries {
		l.held.add(t, e.n, l.entries[len(l.entries)-1].at+old.Period)
	}
	l.entries = nil
}

func (l *logModel) clone() modelState { return &logModel{slices.Clone(l.entries), l.held} }

// acquire takes or renews the lease of a holder.
func (t *model) acquire(op *engine.Op) engine.Decision {
	k := t.find(op.Key)
	switch {
	case k == nil:
		k = &modelKey{holders: map[string]int64{}}
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

func (t *model) release(op *engine.Op) engine.Decision {
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

// live returns the holders with a ttl that has not ended at t.
func (k *modelKey) live(t int64) map[string]int64 {
	live := maps.Clone(k.holders)
	maps.DeleteFunc(live, func(_ string, end int64) bool { return t >= end })
	return live
}

// ends returns the sorted ends of the live holders.
func (k *modelKey) ends(t int64) []int64 {
	return slices.Sorted(maps.Values(k.live(t)))
}

// leaseDecision returns the state of a LEASE key for a new holder, or, with allowed 1,
// for a holder just admitted.
func (t *model) leaseDecision(k *modelKey, allowed int64) engine.Decision {
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
