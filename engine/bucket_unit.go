package engine

// A bucket whose rate has changed goes on counting time in drops of the earlier
// rate, so that no change of the rate rounds anything: the time at which the bucket
// is full is the same fraction of a nanosecond as before. The unit, drops of a
// nanosecond, is brought to a multiple of the new Count where the numbers allow
// it. Then the new rate is exact in the same drops, and the arithmetic that of
// any bucket.
//
// Where they do not, since the two Counts have little in common and many digits, or
// the bucket is full only in many years, the state is foreign: used and until compare
// products of three numbers, still exact. A take of a foreign bucket is exact if
// a nanosecond has whole drops at both rates, and else rounds the time up, by less
// than a drop.

const (
	// maxUnit bounds a unit, so that the time of an Instant in drops stays below 2^125.
	maxUnit = 1 << 62
	// maxScaled bounds the drops of a permit.
	maxScaled = 1 << 62
	// maxDue is the bits that the time of a state may have.
	maxDue = 126
)

// scaled is the rate of p in drops of a unit. Not ok: a permit is no whole number of
// drops, or too many.
func scaled(p *Params, unit uint64) (count, period uint64, ok bool) {
	m := unit / uint64(p.Count)
	if m*uint64(p.Count) != unit || m > maxScaled/uint64(p.Period) {
		return 0, 0, false
	}
	return unit, m * uint64(p.Period), true
}

// reduced is a time in drops of a unit in those of p.Count, if that is exact, or of the
// least common multiple of both, if it fits, or else as it is.
func reduced(due wide, unit uint64, p *Params) (wide, uint64) {
	count := uint64(p.Count)
	if unit == count {
		return due, unit
	}
	m := count / gcd(unit, count) // drops of the common unit in one of the old
	if m <= maxUnit/unit {
		if all, fits := due.times(m); fits && all.hi>>(maxDue-64) == 0 {
			due, unit = all, unit*m
		}
	}
	if m := unit / count; m > 1 && m*count == unit {
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

// takeForeign is take of a foreign state.
func (b bucket) takeForeign(c *cell, now Instant, n int64) {
	owed, cost := b.owed(c, now), b.drops(c, n)
	whole := b.unit(c)%uint64(c.params.Count) == 0
	if !whole || !owed.halfDue() || !cost.halfDue() {
		if period, ok := b.rescale(c, now); ok {
			b.set(c, now, b.owed(c, now).add(mul(uint64(n), period)))
			return
		}
		if !owed.halfDue() || !cost.halfDue() {
			return // a group that is denied: no limit has room for such a take
		}
		cost = cost.add(wide{0, 1})
	}
	b.set(c, now, owed.add(cost))
}

// halfDue says whether two such times fit a state.
func (a wide) halfDue() bool { return a.hi>>(maxDue-1-64) == 0 }

// rescale brings a foreign state to a unit in which a permit is whole drops, and
// returns these. The time is rounded up by less than a drop. Not ok: the state does
// not fit, nor could any permit be taken of it under a limit.
func (b bucket) rescale(c *cell, now Instant) (period uint64, ok bool) {
	count, period := uint64(c.params.Count), uint64(c.params.Period)
	for 2*count <= maxUnit && 2*period <= maxScaled {
		count, period = 2*count, 2*period
	}
	nanos, rest := b.owed(c, now).div(b.unit(c))
	part, fits := nanos.times(count)
	if !fits || !part.halfDue() {
		return 0, false
	}
	owed := part.add(mul(rest, count).ceilDiv(b.unit(c)))
	c.past.n = int64(count)
	b.set(c, now, owed)
	return period, true
}

// usedForeign is used of a foreign state: the least whole number of permits whose
// time is not below the one owed.
func (b bucket) usedForeign(c *cell, now Instant) int64 {
	owed := b.owed(c, now).triple(uint64(c.params.Count))
	permit := mul(uint64(c.params.Period), b.unit(c))
	lo, hi := uint64(0), uint64(maxUsed) // it is in [lo, hi]
	for lo < hi {
		if mid := (lo + hi) / 2; permit.triple(mid).less(owed) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int64(lo)
}

// untilForeign is until of a foreign state.
func (b bucket) untilForeign(c *cell, now Instant, target int64) Span {
	return b.owed(c, now).less0(b.drops(c, target)).ceilDiv(b.unit(c)).span()
}

// drops is the time of n permits in whole drops of a foreign state, rounded down.
func (b bucket) drops(c *cell, n int64) wide {
	unit, count := b.unit(c), uint64(c.params.Count)
	nanos, rest := mul(uint64(n), uint64(c.params.Period)).div(count)
	all, fits := nanos.times(unit)
	if !fits {
		return wide{1<<64 - 1, 1<<64 - 1}
	}
	part, _ := mul(rest, unit).div(count)
	return all.add(part)
}
