package engine

// bucket is the token bucket, and the leaky bucket as a queue: the same arithmetic. The
// permits taken from the token bucket are the places occupied in the queue, and both
// return at the rate.
//
// Source: generic cell rate algorithm, virtual scheduling form, ITU-T I.371 annex A, with
// exact fractions. Time is counted in drops: a nanosecond is Count drops and a permit costs
// Period drops, so that a rate of Count permits per Period nanoseconds needs no division.
// The state is a single number, the theoretical arrival time: the first drop with a full
// bucket.
//
// A change of rate or capacity keeps that time, and keeps the permits in use no lower than
// at the rates that they were taken with: see pastBucket.
type bucket struct{}

// owedDrops returns the drops from now until the bucket of the cell is full, with unit
// drops in a nanosecond.
func owedDrops(c *cell, now Instant, unit uint64) wide {
	due := wide{c.state[0], c.state[1]}
	return due.subSaturating(mul(uint64(now), unit))
}

// owed is owedDrops written out, because a call of it costs a take nine instructions more.
func (bucket) owed(c *cell, now Instant) wide {
	due := wide{c.state[0], c.state[1]}
	return due.subSaturating(mul(uint64(now), uint64(c.params.Count)))
}

// isValidDue reports whether the bucket is full within twice the time that the greatest
// capacity takes at the slowest rate.
func isValidDue(c *cell, now Instant, unit uint64) bool {
	if c.state[0]>>63 != 0 {
		return false
	}
	owed := owedDrops(c, now, unit)
	if owed.hi == 0 { // most are; the time below has more than 64 bits
		return true
	}
	nanos, _ := owed.div(unit)
	return nanos.subSaturating(mul(2*MaxLimit, MaxRatePeriod)).isZero()
}

func (bucket) valid(c *cell, now Instant) bool {
	return isValidDue(c, now, uint64(c.params.Count))
}

func (bucket) set(c *cell, now Instant, owed wide) {
	if owed.isZero() {
		c.state = state{}
		return
	}
	due := owed.add(mul(uint64(now), uint64(c.params.Count)))
	c.state = state{due.hi, due.lo}
}

func (b bucket) used(c *cell, now Instant) int64 {
	return int64(b.owed(c, now).ceilDiv(uint64(c.params.Period)).min64(maxUsed))
}

func (b bucket) until(c *cell, now Instant, target int64) Span {
	left := b.owed(c, now).subSaturating(mul(uint64(target), uint64(c.params.Period)))
	return left.ceilDiv(uint64(c.params.Count)).span()
}

func (b bucket) take(c *cell, now Instant, n int64) {
	b.set(c, now, b.owed(c, now).add(mul(uint64(n), uint64(c.params.Period))))
}

func (b bucket) refund(c *cell, now Instant, n int64) {
	b.set(c, now, b.owed(c, now).subSaturating(mul(uint64(n), uint64(c.params.Period))))
}

// giveBack returns the time that n permits cost, minus the time since they were taken, because the
// bucket may have earned that part back already.
func (b bucket) giveBack(c *cell, now, since Instant, n int64) bool {
	back := mul(uint64(n), uint64(c.params.Period)).subSaturating(mul(age(now, since), uint64(c.params.Count)))
	b.set(c, now, b.owed(c, now).subSaturating(back))
	return !back.isZero()
}

// migrate keeps the time when the bucket is full, and the fastest rate that permits were
// taken with.
func (bucket) migrate(c *cell, now Instant, p Params) { pastBucket{}.migrate(c, now, p) }
