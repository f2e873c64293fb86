package engine

import (
	"math"
	"math/bits"
)

// pastBucket is a bucket with a past: its rate has changed. It continues to count time in
// drops of the earlier rate, so that no change of the rate rounds anything: the time when
// the bucket is full is the same fraction of a nanosecond as before. The unit, the number
// of drops in a nanosecond, becomes a multiple of the new Count if the numbers fit. If they
// do not, because the two Counts have few common factors and many digits, or because the
// bucket is full only in many years, a take or a refund may round the time: see refine. All
// other results, including used and until, are exact.
//
// Keeping only the time would grant extra permits: a burst at a fast rate is a short time,
// and a short time is few permits at a slow rate. The permits in use are therefore counted
// at the faster of two rates: the current rate, and the fastest rate of permits taken since
// the bucket was full. So no more is ever granted than by a bucket with the highest of the
// capacities and the fastest of the rates: that bucket never has fewer permits left,
// because a take uses at least as many permits here, and at most as many are earned back
// here.
type pastBucket struct{}

const (
	// maxUnit bounds a unit, so that an Instant in drops stays below 2^125.
	maxUnit = 1 << 62
	// maxDue is the number of bits for the time in a state.
	maxDue = 126
)

// rescale converts due, in drops of unit, to the best unit for a Count, and returns it
// with that unit: the Count, if that is exact and a multiple of the Count of the fastest
// rate; otherwise the least common multiple of both, if it fits; otherwise unit itself.
func rescale(due wide, unit, count, fastest uint64) (wide, uint64) {
	if unit == count {
		return due, unit
	}
	m := count / gcd(unit, count) // drops of the common unit in one of the old
	if m <= maxUnit/unit {
		if scaled, fits := due.times(m); fits && scaled.fitsDue() {
			due, unit = scaled, unit*m
		}
	}
	if m := unit / count; m*count == unit && count%fastest == 0 {
		if q, rest := due.div(m); rest == 0 {
			return q, count
		}
	}
	return due, unit
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// fitsDue reports whether a fits a state.
func (a wide) fitsDue() bool { return a.hi>>(maxDue-64) == 0 }

// setUnit sets the unit of the state.
func (pastBucket) setUnit(c *cell, unit uint64) {
	c.past.n = 0
	if unit != uint64(c.params.Count) {
		c.past.n = int64(unit)
	}
}

// unit returns the number of drops in a nanosecond.
func (pastBucket) unit(c *cell) uint64 {
	if c.past.n != 0 {
		return uint64(c.past.n)
	}
	return uint64(c.params.Count)
}

func (b pastBucket) owed(c *cell, now Instant) wide { return owedDrops(c, now, b.unit(c)) }

// valid also checks the past.
func (b pastBucket) valid(c *cell, now Instant) bool {
	x := c.past
	return x.n >= 0 && x.debt >= 0 && x.n <= maxUnit && x.until <= MaxRatePeriod && x.debt <= int64(x.until) &&
		(x.debt == 0) == (x.until == 0) && isValidDue(c, now, b.unit(c))
}

func (b pastBucket) set(c *cell, now Instant, owed wide) {
	if owed.isZero() {
		c.state, c.past = state{}, past{}
		return
	}
	due := owed.add(mul(uint64(now), b.unit(c)))
	c.state = state{due.hi, due.lo}
}

// A rate is count permits per period nanoseconds.
type rate struct{ count, period uint64 }

// currentRate returns the rate of the parameters.
func (pastBucket) currentRate(c *cell) rate {
	return rate{uint64(c.params.Count), uint64(c.params.Period)}
}

// takenRate returns the fastest rate that permits were taken with.
func (b pastBucket) takenRate(c *cell) rate {
	if c.past.debt == 0 {
		return b.currentRate(c)
	}
	return rate{uint64(c.past.debt), uint64(c.past.until)}
}

// setTakenRate sets the fastest rate that permits were taken with.
func (b pastBucket) setTakenRate(c *cell, r rate) {
	if r == b.currentRate(c) {
		r = rate{}
	}
	c.past.debt, c.past.until = int64(r.count), Instant(r.period)
}

// countingRate returns the rate for counting permits in use: the faster of the current rate
// and takenRate.
func (b pastBucket) countingRate(c *cell) rate {
	r, taken := b.currentRate(c), b.takenRate(c)
	if r.slower(taken) {
		return taken
	}
	return r
}

func (r rate) slower(q rate) bool {
	return mul(r.count, q.period).less(mul(q.count, r.period))
}

// drops returns the time of n permits in whole drops of a unit, rounded down, and whether
// that is exact. fits is false if it exceeds a wide.
func (r rate) drops(n, unit uint64) (d wide, exact, fits bool) {
	nanos, rest := mul(n, r.period).div(r.count)
	d, fits = nanos.times(unit)
	part, rest := mul(rest, unit).div(r.count)
	sum := d.add(part)
	return sum, rest == 0, fits && sum.hi >= d.hi
}

// used returns the least whole number of permits with a time not below the time owed.
func (b pastBucket) used(c *cell, now Instant) int64 {
	r := b.countingRate(c)
	all, permit := b.owed(c, now).triple(r.count), mul(r.period, b.unit(c))
	lo, hi := uint64(0), uint64(maxUsed) // it is in [lo, hi]
	for lo < hi {
		if mid := (lo + hi) / 2; permit.triple(mid).less(all) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int64(lo)
}

// until rounds the time of target permits down to drops. That changes no result: the time
// owed is whole drops, and the difference is rounded up to a nanosecond, which is whole
// drops too.
func (b pastBucket) until(c *cell, now Instant, target int64) Span {
	free, _, fits := b.countingRate(c).drops(uint64(target), b.unit(c))
	if !fits {
		return Span{} // it exceeds any time owed
	}
	return b.owed(c, now).subSaturating(free).ceilDiv(b.unit(c)).span()
}

// take may round: see refine.
func (b pastBucket) take(c *cell, now Instant, n int64) {
	if b.owed(c, now).isZero() {
		c.past = past{}
		bucket{}.take(c, now, n)
		return
	}
	cost, exact, fits := b.currentRate(c).drops(uint64(n), b.unit(c))
	if !exact || !fits || !cost.add(wide{c.state[0], c.state[1]}).fitsDue() {
		b.refine(c, n)
		if cost, exact, _ = b.currentRate(c).drops(uint64(n), b.unit(c)); !exact {
			cost = cost.add(wide{0, 1})
		}
	}
	b.set(c, now, b.owed(c, now).add(cost))
	b.setTakenRate(c, b.countingRate(c))
}

// giveBack may round, see refine. It returns the same time as bucket.giveBack.
func (b pastBucket) giveBack(c *cell, now, since Instant, n int64) bool {
	back := b.costOf(c, now, n)
	back = back.subSaturating(mul(age(now, since), b.unit(c)))
	b.set(c, now, b.owed(c, now).subSaturating(back))
	return !back.isZero()
}

// refund may round: see refine.
func (b pastBucket) refund(c *cell, now Instant, n int64) {
	cost := b.costOf(c, now, n)
	b.set(c, now, b.owed(c, now).subSaturating(cost))
}

// costOf returns the time that n permits cost. If that exceeds a wide, the result is the greatest
// wide. It may refine the unit.
func (b pastBucket) costOf(c *cell, now Instant, n int64) wide {
	cost, exact, fits := b.countingRate(c).drops(uint64(n), b.unit(c))
	if fits && !exact && cost.less(b.owed(c, now)) {
		b.refine(c, 0)
		cost, _, fits = b.countingRate(c).drops(uint64(n), b.unit(c))
	}
	if !fits {
		cost = wide{math.MaxUint64, math.MaxUint64}
	}
	return cost
}

// maxUnitExponent is the exponent of 2 of the finest unit that refine chooses.
const maxUnitExponent = 61

// refine converts the state of a bucket with a past to a fine unit, before a time that is
// not a whole number of drops is added, for n permits, or subtracted. The conversion and
// the sum or difference each round the time when the bucket is full up, by less than a
// drop. Nothing else rounds the state of a bucket.
//
// A drop is at most max(2^-61, T / 2^124) ns, with T the time when the bucket with the n
// permits is full, in ns after the epoch, rounded up by at most 2. Proof: the unit stays if
// it is 2^k or finer, and otherwise becomes 2^k, with k the greatest up to 61 that
// satisfies T < 2^(125-k). If k < 61, then T >= 2^(124-k), so 2^-k <= T / 2^124.
//
// So after m takes and refunds since the bucket was full, it is full later than without
// rounding by less than m * max(2^-60, T / 2^123) ns, T the greatest, and never earlier.
// That is less than a nanosecond for m up to 2^60 while T is before the year 2262, and for
// m up to 2^21 at any T, since no T exceeds 2^102. Every answer is the exact answer for a
// bucket that is full so much later: no more permits, and waits that are later by no more
// than that, before they are rounded up to a nanosecond. A take in that time, when the
// bucket would be full without rounding, finds it in use: its fastest rate stays.
func (b pastBucket) refine(c *cell, n int64) {
	unit := b.unit(c)
	due := wide{c.state[0], c.state[1]}
	nanos, rest := due.div(unit)
	more, _ := mul(uint64(n), uint64(c.params.Period)).div(uint64(c.params.Count))
	top := nanos.add(more).add(wide{0, 2})
	fine := uint64(1) << min(maxUnitExponent, maxDue-1-top.bitLen())
	if unit >= fine && top.bitLen()+bits.Len64(unit) <= maxDue {
		return
	}
	scaled, _ := nanos.times(fine)
	due = scaled.add(mul(rest, fine).ceilDiv(unit))
	c.state = state{due.hi, due.lo}
	b.setUnit(c, fine)
}

// migrate keeps the time when the bucket is full, and the fastest rate that permits were
// taken with.
func (b pastBucket) migrate(c *cell, now Instant, p Params) {
	if b.owed(c, now).isZero() {
		c.params, c.past, c.state = p, past{}, state{}
		return
	}
	taken := b.takenRate(c)
	due, unit := rescale(wide{c.state[0], c.state[1]}, b.unit(c), uint64(p.Count), taken.count)
	c.params, c.past, c.state = p, past{}, state{due.hi, due.lo}
	b.setUnit(c, unit)
	b.setTakenRate(c, taken)
}
