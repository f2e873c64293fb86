package engine

// bucket is the token bucket and the leaky bucket as a queue. They are the same
// thing seen from two sides: the permits taken from the one are the places taken
// in the other, and both come back at the rate.
//
// Source: generic cell rate algorithm, virtual scheduling form, ITU-T I.371
// annex A, with exact fractions. Time is counted in drops: a nanosecond is Count
// drops and a permit costs Period drops, so that a rate of Count permits per
// Period nanoseconds needs no division. The state is one number, the theoretical
// arrival time: the drop at which nothing is owed any more.
type bucket struct{}

// owed is the drops from now until the bucket is full.
func (bucket) owed(c *cell, now Instant) wide {
	due := wide{c.state[0], c.state[1]}
	return due.less0(mul(uint64(now), uint64(c.params.Count)))
}

// sound: at most two limits are owed.
func (b bucket) sound(c *cell, now Instant) bool {
	most := mul(2*uint64(c.params.Limit), uint64(c.params.Period))
	return b.owed(c, now).less0(most).isZero()
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
	return int64(b.owed(c, now).ceilDiv(uint64(c.params.Period)).lo)
}

func (b bucket) until(c *cell, now Instant, target int64) Span {
	left := b.owed(c, now).less0(mul(uint64(target), uint64(c.params.Period)))
	return left.ceilDiv(uint64(c.params.Count)).span()
}

func (b bucket) take(c *cell, now Instant, n int64) {
	b.set(c, now, b.owed(c, now).add(mul(uint64(n), uint64(c.params.Period))))
}

func (b bucket) give(c *cell, now Instant, n int64) {
	b.set(c, now, b.owed(c, now).less0(mul(uint64(n), uint64(c.params.Period))))
}

// change keeps the permits owed, fractions and all, rounded up to a drop.
func (b bucket) change(c *cell, now Instant, p Params) {
	var (
		used  = b.used(c, now)
		kept  = keep(c, used, &p)
		whole = mul(uint64(kept), uint64(p.Period))
		owed  = whole
	)
	if kept == used { // nothing is cut: the last permit may be partly back
		old := uint64(c.params.Period)
		back := mul(uint64(used), old).less0(b.owed(c, now)).lo // below one permit, so below old
		share, _ := mul(back, uint64(p.Period)).div(old)
		owed = whole.less0(share)
	}
	c.params = p
	b.set(c, now, owed)
}
