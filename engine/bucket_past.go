package engine

// pastBucket is a bucket whose rate has changed. It goes on counting time in drops of the earlier
// rate, so that no change of the rate rounds anything: the time at which the bucket
// is full is the same fraction of a nanosecond as before. The unit, drops of a
// nanosecond, is brought to a multiple of the new Count where the numbers allow it. If
// they do not, since the two Counts have little in common and many digits, or the
// bucket is full only in many years, used and until are still exact; a take then
// rounds the time up, by less than a drop of another unit.
//
// Time alone would give permits away: a burst at a fast rate is a short time, and that
// is few permits at a slow rate. So the permits used are those of the faster of two
// rates, the one in force and the fastest at which permits were taken since the bucket
// was full. Then at no time more are given than a bucket with the highest of the
// capacities and the fastest of the rates would give: its permits used are never more,
// since a take adds at least as many here, and no more than these are earned back.
type pastBucket struct{}

const (
	// maxUnit bounds a unit, so that the time of an Instant in drops stays below 2^125.
	maxUnit = 1 << 62
	// maxScaled bounds the drops of a permit.
	maxScaled = 1 << 62
	// maxDue is the bits that the time of a state may have.
	maxDue = 126
)

// drops is a time in drops, with the drops of a nanosecond and those of a permit.
type drops struct {
	due          wide
	unit, permit uint64
}

// under is t in a unit that is best for p: p.Count, if that is exact, or else the least
// common multiple of both, if it fits, or else as it is.
func (t drops) under(p *Params) drops {
	count := uint64(p.Count)
	if t.unit == count {
		return t
	}
	m := count / gcd(t.unit, count) // drops of the common unit in one of the old
	if m <= maxUnit/t.unit && m <= maxScaled/t.permit {
		if due, fits := t.due.times(m); fits && due.hi>>(maxDue-64) == 0 {
			t = drops{due, t.unit * m, t.permit * m}
		}
	}
	if m := t.unit / count; m*count == t.unit && t.permit%m == 0 {
		if q, rest := t.due.div(m); rest == 0 {
			return drops{q, count, t.permit / m}
		}
	}
	return t
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// unit is the number of drops of a nanosecond.
func (pastBucket) unit(c *cell) uint64 {
	if c.past.n != 0 {
		return uint64(c.past.n)
	}
	return uint64(c.params.Count)
}

func (b pastBucket) owed(c *cell, now Instant) wide { return owedDrops(c, now, b.unit(c)) }

func (b pastBucket) sound(c *cell, now Instant) bool { return isSoundDue(c, now, b.unit(c)) }

func (b pastBucket) set(c *cell, now Instant, owed wide) {
	if owed.isZero() {
		c.state, c.past = state{}, past{}
		return
	}
	due := owed.add(mul(uint64(now), b.unit(c)))
	c.state = state{due.hi, due.lo}
}

// permit is the drops of a permit at the rate in force, rounded down, at most maxScaled
// and at least 1.
func (b pastBucket) permit(c *cell) uint64 {
	if c.past.n == 0 {
		return uint64(c.params.Period)
	}
	return max(1, b.drops(c, 1).min64(maxScaled))
}

// drops is the time of n permits at the rate in force in whole drops, rounded down.
func (b pastBucket) drops(c *cell, n int64) wide {
	unit, count := b.unit(c), uint64(c.params.Count)
	nanos, rest := mul(uint64(n), uint64(c.params.Period)).div(count)
	all, fits := nanos.times(unit)
	if !fits {
		return wide{1<<64 - 1, 1<<64 - 1}
	}
	part, _ := mul(rest, unit).div(count)
	return all.add(part)
}

// used is the least whole number of permits whose
// time is not below the one owed, at either rate.
func (b pastBucket) used(c *cell, now Instant) int64 {
	owed := b.owed(c, now)
	all := owed.triple(uint64(c.params.Count))
	permit := mul(uint64(c.params.Period), b.unit(c))
	lo, hi := uint64(0), uint64(maxUsed) // it is in [lo, hi]
	if c.past.debt != 0 {
		lo = owed.ceilDiv(uint64(c.past.debt)).min64(maxUsed)
	}
	for lo < hi {
		if mid := (lo + hi) / 2; permit.triple(mid).less(all) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int64(lo)
}

func (b pastBucket) until(c *cell, now Instant, target int64) Span {
	free := b.drops(c, target)
	if c.past.debt != 0 {
		free = free.least(mul(uint64(target), uint64(c.past.debt)))
	}
	return b.owed(c, now).less0(free).ceilDiv(b.unit(c)).span()
}

func (b pastBucket) take(c *cell, now Instant, n int64) {
	if b.owed(c, now).isZero() {
		c.past = past{}
		bucket{}.take(c, now, n)
		return
	}
	owed, cost := b.owed(c, now), b.drops(c, n)
	whole := b.unit(c)%uint64(c.params.Count) == 0
	if !whole || !owed.halfDue() || !cost.halfDue() {
		if b.rescale(c, now) {
			owed, cost = b.owed(c, now), b.drops(c, n)
		} else if cost = cost.add(wide{0, 1}); !owed.halfDue() || !cost.halfDue() || cost.isZero() {
			return // a group that is denied: no limit has room for such a take
		}
	}
	b.set(c, now, owed.add(cost))
	if c.past.debt != 0 && b.permit(c) <= uint64(c.past.debt) {
		c.past.debt = 0
	}
}

// halfDue says whether two such times fit a state.
func (a wide) halfDue() bool { return a.hi>>(maxDue-1-64) == 0 }

// rescale brings the state of a bucket to a unit in which a permit is whole drops. The
// time is rounded up by less than a drop. Not ok: the state does not fit, nor could
// any permit be taken of it under a limit.
func (b pastBucket) rescale(c *cell, now Instant) (ok bool) {
	count, period, unit := uint64(c.params.Count), uint64(c.params.Period), b.unit(c)
	for 2*count <= maxUnit && 2*period <= maxScaled {
		count, period = 2*count, 2*period
	}
	nanos, rest := b.owed(c, now).div(unit)
	part, fits := nanos.times(count)
	if !fits || !part.halfDue() {
		return false
	}
	fastest, _ := mul(uint64(c.past.debt), count).div(unit)
	if c.past.debt != 0 {
		c.past.debt = int64(max(1, fastest.min64(maxScaled)))
	}
	owed := part.add(mul(rest, count).ceilDiv(unit))
	c.past.n = int64(count)
	b.set(c, now, owed)
	return true
}

func (b pastBucket) give(c *cell, now Instant, n int64) {
	cost := b.drops(c, n)
	if c.past.debt != 0 {
		cost = cost.least(mul(uint64(n), uint64(c.past.debt)))
	}
	b.set(c, now, b.owed(c, now).less0(cost))
}

// change keeps the time at which the bucket is full, and the fastest rate at which
// permits were taken.
func (b pastBucket) change(c *cell, now Instant, p Params) {
	if b.owed(c, now).isZero() {
		c.params, c.past, c.state = p, past{}, state{}
		return
	}
	t := drops{due: wide{c.state[0], c.state[1]}, unit: b.unit(c), permit: uint64(c.past.debt)}
	if t.permit == 0 {
		t.permit = b.permit(c)
	}
	t = t.under(&p)
	c.params, c.past, c.state = p, past{}, state{t.due.hi, t.due.lo}
	if t.unit != uint64(p.Count) {
		c.past.n = int64(t.unit)
	}
	if t.permit != b.permit(c) {
		c.past.debt = int64(t.permit)
	}
}
