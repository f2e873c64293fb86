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
// Another rate or capacity leaves that time as it is. If a nanosecond of the state
// has another number of drops than Count, the past of the key has that number: see
// bucket_unit.go.
type bucket struct{}

// unit is the number of drops of a nanosecond.
func (bucket) unit(c *cell) uint64 {
	if c.past.n != 0 {
		return uint64(c.past.n)
	}
	return uint64(c.params.Count)
}

// rate is the rate in drops: count of a nanosecond, period of a permit. Not ok: a
// permit is no whole number of drops.
func (b bucket) rate(c *cell) (count, period uint64, ok bool) {
	if c.past.n == 0 {
		return uint64(c.params.Count), uint64(c.params.Period), true
	}
	return scaled(&c.params, uint64(c.past.n))
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
	_, period, ok := b.rate(c)
	if !ok {
		return b.usedForeign(c, now)
	}
	return int64(b.owed(c, now).ceilDiv(period).min64(maxUsed))
}

func (b bucket) until(c *cell, now Instant, target int64) Span {
	count, period, ok := b.rate(c)
	if !ok {
		return b.untilForeign(c, now, target)
	}
	return b.owed(c, now).less0(mul(uint64(target), period)).ceilDiv(count).span()
}

func (b bucket) take(c *cell, now Instant, n int64) {
	_, period, ok := b.rate(c)
	if !ok {
		b.takeForeign(c, now, n)
		return
	}
	b.set(c, now, b.owed(c, now).add(mul(uint64(n), period)))
}

func (b bucket) give(c *cell, now Instant, n int64) {
	_, period, ok := b.rate(c)
	if !ok {
		b.set(c, now, b.owed(c, now).less0(b.drops(c, n)))
		return
	}
	b.set(c, now, b.owed(c, now).less0(mul(uint64(n), period)))
}

// change keeps the time at which the bucket is full.
func (b bucket) change(c *cell, now Instant, p Params) {
	due, unit := wide{c.state[0], c.state[1]}, b.unit(c)
	if b.owed(c, now).isZero() {
		c.state, c.past = state{}, past{}
	} else {
		due, unit = reduced(due, unit, &p)
		c.state, c.past.n = state{due.hi, due.lo}, 0
		if unit != uint64(p.Count) {
			c.past.n = int64(unit)
		}
	}
	c.params = p
}
