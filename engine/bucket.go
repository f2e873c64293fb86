package engine

// bucket is the token bucket and the leaky bucket as a queue. They are the same
// thing seen from two sides: the permits taken from the one are the places taken
// in the other, and both come back at the rate.
//
// Source: generic cell rate algorithm, virtual scheduling form, ITU-T I.371
// annex A, with exact fractions. Time is counted in drops: a nanosecond is Count
// drops and a permit costs Period drops, so that a rate of Count permits per
// Period nanoseconds needs no division. The state is one number, the theoretical
// arrival time: the drop at which the bucket is full.
//
// Another rate or capacity leaves that time as it is, and no fewer permits used than
// at the rates at which they were taken: see bucket_past.go.
type bucket struct{}

// unit is the number of drops of a nanosecond.
func (bucket) unit(c *cell) uint64 {
	if c.past.n != 0 {
		return uint64(c.past.n)
	}
	return uint64(c.params.Count)
}

// owed is the drops from now until the bucket is full.
func (b bucket) owed(c *cell, now Instant) wide {
	due := wide{c.state[0], c.state[1]}
	return due.less0(mul(uint64(now), b.unit(c)))
}

// sound: the bucket is full within the time that the greatest takes at the slowest
// rate, twice.
func (b bucket) sound(c *cell, now Instant) bool {
	if c.state[0]>>63 != 0 {
		return false
	}
	nanos, _ := b.owed(c, now).div(b.unit(c))
	return nanos.less0(mul(2*MaxLimit, MaxRatePeriod)).isZero()
}

func (b bucket) set(c *cell, now Instant, owed wide) {
	if owed.isZero() {
		c.state, c.past = state{}, past{}
		return
	}
	due := owed.add(mul(uint64(now), b.unit(c)))
	c.state = state{due.hi, due.lo}
}

func (b bucket) used(c *cell, now Instant) int64 {
	if c.past != (past{}) {
		return b.usedMixed(c, now)
	}
	return int64(b.owed(c, now).ceilDiv(uint64(c.params.Period)).min64(maxUsed))
}

func (b bucket) until(c *cell, now Instant, target int64) Span {
	if c.past != (past{}) {
		return b.untilMixed(c, now, target)
	}
	left := b.owed(c, now).less0(mul(uint64(target), uint64(c.params.Period)))
	return left.ceilDiv(uint64(c.params.Count)).span()
}

func (b bucket) take(c *cell, now Instant, n int64) {
	if c.past != (past{}) {
		b.takeMixed(c, now, n)
		return
	}
	b.set(c, now, b.owed(c, now).add(mul(uint64(n), uint64(c.params.Period))))
}

func (b bucket) give(c *cell, now Instant, n int64) {
	if c.past != (past{}) {
		b.giveMixed(c, now, n)
		return
	}
	b.set(c, now, b.owed(c, now).less0(mul(uint64(n), uint64(c.params.Period))))
}

// change keeps the time at which the bucket is full, and the fastest rate at which
// permits were taken.
func (b bucket) change(c *cell, now Instant, p Params) {
	if b.owed(c, now).isZero() {
		c.params, c.past, c.state = p, past{}, state{}
		return
	}
	fastest := past{debt: c.past.debt, until: c.past.until}
	if fastest.debt == 0 {
		fastest = past{debt: c.params.Count, until: Instant(c.params.Period)}
	}
	due, unit := inUnitOf(wide{c.state[0], c.state[1]}, b.unit(c), uint64(p.Count), uint64(fastest.debt))
	c.params, c.past, c.state = p, past{}, state{due.hi, due.lo}
	b.setUnit(c, unit)
	if fastest.debt != p.Count || fastest.until != Instant(p.Period) {
		c.past.debt, c.past.until = fastest.debt, fastest.until
	}
}
