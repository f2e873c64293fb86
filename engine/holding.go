package engine

// holding is the limiter and the tail of a key with holds: the limiter of the key without holds, to
// which the holds that have ended give back first.
//
// The words of the state are the words without holds, and the number of the list of holds. The list is
// the tail, with the tail of the key without holds, if it has a tail. used and until count an ended hold as
// settled. The other methods require that no hold has ended, except migrate when the caller discards the
// cell.
type holding struct{}

var holdingMethods = counted(holding{})

func (holding) used(c *cell, now Instant) (used int64) {
	state, past := c.look(now)
	used = c.lookMeter(now).used(c, now)
	c.state, c.past = state, past
	return used
}

func (holding) until(c *cell, now Instant, target int64) (wait Span) {
	state, past := c.look(now)
	wait = c.lookMeter(now).until(c, now, target)
	c.state, c.past = state, past
	return wait
}

// look makes the cell bare. It settles the holds that have ended in the words of the cell, except of a
// log. It returns the state and the past for the caller to restore.
func (c *cell) look(now Instant) (state, past) {
	state, past := c.state, c.past
	c.bare()
	if c.hasEnded(now) && !c.alg().chunked {
		c.giveBackEnded(now)
	}
	return state, past
}

// lookMeter returns the meter of a cell that look has made bare.
func (c *cell) lookMeter(now Instant) meter {
	if c.alg().chunked && c.hasEnded(now) {
		return carried{limiter: pendingLog{}}
	}
	return c.meter()
}

// A pendingLog is a log with holds that have ended and are not settled: it looks at the entries without
// the permits that they give back.
type pendingLog struct{ slidingLog }

// settled returns a copy of the cell, which has holds, in which the holds that have ended are settled.
// The copy shares no memory that may change with the cell. It is equal on all nodes, whenever and in
// whichever order each node settled its holds. Cost: linear in the holds, and in the entries of a log.
func (c *cell) settled(now Instant) *cell {
	x := *c
	x.holds.unshare()
	if c.alg().chunked && c.hasEnded(now) {
		l := loadLog(c)
		l.expire(c, now)
		ref := x.bare()
		x.chunks, x.state = new(chunks), state{}
		l.each(c, func(at Instant, permits uint32) { slidingLog{}.take(&x, at, int64(permits)) })
		x.dress(ref)
	}
	x.settleEnded(now)
	return &x
}

// take lowers the marks of the holds: from now on less can be given back.
func (holding) take(c *cell, now Instant, n int64) {
	unit := uint64(0)
	if c.marks() {
		unit = pastBucket{}.unit(c)
		c.holds.lower(pastBucket{}.owed(c, now))
	}
	ref := c.bare()
	c.limiter().take(c, now, n)
	c.dress(ref)
	if c.marks() {
		c.holds.rescale(unit, pastBucket{}.unit(c))
	}
}

func (holding) giveBack(c *cell, now, since Instant, n int64) (given bool) {
	c.giving(now, func(l limiter) { given = l.giveBack(c, now, since, n) })
	return given
}

func (holding) refund(c *cell, now Instant, n int64) {
	c.giving(now, func(l limiter) { l.refund(c, now, n) })
}

// giving gives permits back, and lowers the marks of a bucket by the time that was given back.
func (c *cell) giving(now Instant, give func(l limiter)) {
	var (
		b    pastBucket
		owed wide
		unit uint64
	)
	if c.marks() {
		owed, unit = b.owed(c, now), b.unit(c)
	}
	ref := c.bare()
	give(c.limiter())
	c.dress(ref)
	if !c.marks() || c.holds.len() == 0 {
		return
	}
	to := b.unit(c)
	if to != unit {
		c.holds.rescale(unit, to)
		owed = owed.inUnit(unit, to).add(wide{0, 1})
	}
	if by := owed.subSaturating(b.owed(c, now)); !by.isZero() {
		c.holds.fallAll(by)
	}
}

// migrate drops the holds if the window or the rate changes: their permits then stay taken. In a look
// the holds that have ended are settled before.
func (holding) migrate(c *cell, now Instant, p Params) {
	drops := p.Count != c.params.Count || p.Period != c.params.Period || p.Calendar != c.params.Calendar
	if c.hasEnded(now) {
		c.migratePending(now, p, drops)
		return
	}
	if drops {
		c.holds = noHolds
	}
	ref := c.bare()
	c.meter().migrate(c, now, p)
	c.dress(ref)
}

// migratePending is migrate in a look at a key with holds that have ended.
func (c *cell) migratePending(now Instant, p Params, drops bool) {
	if !c.alg().chunked {
		c.holds.unshare()
		c.settleEnded(now)
		holding{}.migrate(c, now, p)
		return
	}
	ref := c.bare()
	l := loadLog(c)
	l.expire(c, now)
	if p.Period < c.params.Period {
		if used := (pendingLog{}).used(c, now); used > 0 {
			c.addHeld(now, used, now.after(pendingLog{}.until(c, now, 0)))
		}
		l.expired = l.granted
	}
	l.store(c)
	c.params = p
	c.dress(ref)
	if drops { // ended holds stay, because used and until count them as settled
		c.holds.unshare()
		c.holds.drop(func(h *hold) bool { return h.end > now })
	}
}

// valid: the words are built by read.
func (holding) valid(*cell, Instant) bool { return true }

func (holding) discard(c *cell) {
	c.holdings.release(c)
	c.bare()
	if t := c.alg().tail; t != nil {
		t.discard(c)
	}
	c.state = state{}
}

func (holding) location(c *cell) uint64 { return c.state[c.alg().words] }

func (holding) lastChange(c *cell) uint64 { return c.holdings.lists[c.state[c.alg().words]].change }

func (holding) changes(c *cell) uint64 { return c.holdings.changes }

// print puts a hash of the holds after the words without holds.
func (holding) print(c *cell) state {
	words := c.state
	if t := c.alg().tail; t != nil {
		words = t.print(c)
	}
	var x effects
	items, r := c.holds.items(), markReader{list: &c.holds}
	for i := range items {
		h, mark := &items[i], r.of(i)
		x.add(h.id, uint64(h.stamp))
		x.add(uint64(h.end), uint64(h.n))
		x.add(uint64(h.keep), mark.hi)
		x.add(mark.lo, 0)
	}
	words[c.alg().words] = uint64(x)
	return words
}

func (holding) bytes(c *cell) int64 {
	bytes := keptListBytes + keptRefBytes + c.holds.bytes()
	if t := c.alg().tail; t != nil {
		bytes += t.bytes(c)
	}
	return bytes
}
