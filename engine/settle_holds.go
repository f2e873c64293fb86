package engine

import "slices"

// An amountOf returns the permits that a hold gives back now, at most all of them.
type amountOf func(h *hold) int64

// settleHolds settles the holds that have ended of the key in the cell, with its record at a place. It
// changes no answer. Requires: now is the time of the shard.
func (s *shard) settleHolds(now Instant, pl place) {
	c := &s.cell
	if s.holds.kept(c).least > now { // the cell's least may be later already: a look raises it
		return
	}
	if !c.hasEnded(now) {
		s.holds.kept(c).least = c.holds.least
		return
	}
	if s.frozen != nil {
		p := s.slab.open(pl.page)
		at, _, key := s.record(p, pl.slot)
		s.preserveTail(s.hash(p.head(at).db(), key))
	}
	c.settleEnded(now)
	s.store(pl, now.after(c.meter().until(c, now, 0)))
}

// settleEnded settles the holds that have ended. It changes the holds of the list. It returns the number
// of entries of a log that it visited. Cost: linear in the holds and in these entries.
func (c *cell) settleEnded(now Instant) (entries int) {
	items := c.holds.items()
	for i := range items {
		if items[i].end <= now {
			entries = c.giveBackHolds(now, i, len(items), endedAmount(now))
			c.holds.drop(func(h *hold) bool { return h.end <= now })
			return entries
		}
	}
	return 0
}

// settleHold gives the permits of hold i back, except keep permits, and removes the hold. It changes the holds of
// the list. Requires: no hold of the list has ended.
func (c *cell) settleHold(now Instant, i int, keep int64) {
	h := &c.holds.items()[i]
	h.keep = min(keep, h.n)
	if c.alg().chunked {
		ref := c.bare()
		slidingLog{}.giveBackAt(c, now, h.stamp, h.surplus())
		c.dress(ref)
	} else {
		c.giveBackHolds(now, i, i+1, (*hold).surplus)
	}
	c.holds.remove(i)
}

// endedAmount is the amountOf that settles holds that have ended.
func endedAmount(now Instant) amountOf {
	return func(h *hold) int64 {
		if h.end > now {
			return 0
		}
		return h.surplus()
	}
}

// giveBackHolds gives back permits of the holds in [from, to), as if they had never been taken. It leaves the holds
// in the list. It returns the number of entries of a log that it visited.
func (c *cell) giveBackHolds(now Instant, from, to int, amount amountOf) (entries int) {
	ref := c.bare()
	switch {
	case c.marks():
		c.giveBackTime(now, from, to, amount)
	case c.alg().chunked:
		entries = slidingLog{}.giveBackHolds(c, now, c.holds.items()[from:to], amount)
	default:
		c.giveBackCounts(now, from, to, amount)
	}
	c.dress(ref)
	return entries
}

// giveBackTime is giveBackHolds for a bucket. The order of the holds does not matter: the mark
// of each hold bounds the sum of all that it and the earlier holds give back.
func (c *cell) giveBackTime(now Instant, from, to int, amount amountOf) {
	l := &c.holds
	l.limit()
	var (
		b        pastBucket
		owed     = b.owed(c, now)
		items    = l.items()
		older, _ = l.split(l.gap + uint32(from))
		kept     = len(older) // number of steps up to hold i that are not lowered to 0
		next     = kept       // index of the first step after hold i
		mark     = l.sumOf(kept)
	)
	for i := from; i < to; i++ {
		for ; next < len(l.steps) && l.steps[next].at <= l.gap+uint32(i); next++ {
			l.steps[kept] = l.steps[next]
			mark = mark.add(l.steps[next].by)
			kept++
		}
		if uint32(i) >= l.marked {
			mark = l.last
		}
		n := amount(&items[i])
		if n <= 0 {
			continue
		}
		back := lower(b.cost(c, n), lower(owed, mark))
		owed = owed.subSaturating(back)
		if l.fall(back); uint32(i) < l.marked {
			mark, l.sum = mark.subSaturating(back), l.sum.subSaturating(back)
			kept = lowerSteps(l.steps[:kept], back)
		}
	}
	l.steps = slices.Delete(l.steps, kept, next)
	b.set(c, now, owed)
}

// giveBackEnded gives the permits of holds that have ended back in the words of the cell alone. The list
// stays as it is. Requires: the key is no log.
func (c *cell) giveBackEnded(now Instant) {
	amount := endedAmount(now)
	if !c.marks() {
		c.giveBackCounts(now, 0, c.holds.len(), amount)
		return
	}
	var (
		b    pastBucket
		owed = b.owed(c, now)
		back wide
	)
	items, r := c.holds.items(), markReader{list: &c.holds}
	for i := range items {
		if n := amount(&items[i]); n > 0 {
			back = lower(back.add(lower(b.cost(c, n), owed)), lower(r.of(i), owed))
		}
	}
	b.set(c, now, owed.subSaturating(back))
}

// cost returns the time that n permits cost at the current rate, rounded down to drops; or the
// greatest time if that exceeds a wide.
func (b pastBucket) cost(c *cell, n int64) wide {
	if c.past.n == 0 {
		return mul(uint64(n), uint64(c.params.Period))
	}
	cost, _, fits := b.currentRate(c).drops(uint64(n), b.unit(c))
	if !fits {
		return unmarked
	}
	return cost
}

// giveBackCounts is giveBackHolds for a limiter of windows. giveBack runs at a time inside the last window
// in which permits were taken, not at now. So the result does not depend on the time of the settlement.
func (c *cell) giveBackCounts(now Instant, from, to int, amount amountOf) {
	items := c.holds.items()[from:to]
	for i := range items {
		h := &items[i]
		if n := amount(h); n > 0 {
			at := min(now, h.end) // a debt is carried over at the end of its window
			if c.params.Alg == Slide {
				at = min(now, Instant(c.state[0])-1)
			}
			c.alg().limiter.giveBack(c, at, h.stamp, n)
		}
	}
}

// A withdrawal has the permits that holds give back of the entries of a log, in the order of their
// stamps.
type withdrawal struct {
	holds  []hold
	amount amountOf
}

// of returns the number of permits to remove from the entry at stamp. Requires: stamp ascends from call to
// call.
func (w *withdrawal) of(stamp Instant) (n int64) {
	for len(w.holds) > 0 && w.holds[0].stamp <= stamp {
		if w.holds[0].stamp == stamp {
			n += w.amount(&w.holds[0])
		}
		w.holds = w.holds[1:]
	}
	return n
}

// giveBackHolds removes permits of holds from the entries of their stamps. It returns the number of
// entries since the first of the holds. Cost: linear in these and in the holds.
func (g slidingLog) giveBackHolds(c *cell, now Instant, holds []hold, amount amountOf) (entries int) {
	l := loadLog(c)
	l.expire(c, now)
	if l.first == 0 || l.expired == l.granted || len(holds) == 0 {
		return 0
	}
	var (
		w         = withdrawal{holds, amount}
		r, before = l.chunkAt(c, holds[0].stamp)
		removed   uint32
	)
	for r != 0 {
		words := c.chunks.words(r)
		next, kept := chunkRef(words[chunkLinks]), 0
		for i := range int(words[chunkCount]) {
			at, total := entry(words, i)
			if int32(before-l.expired) < 0 {
				before = l.expired
			}
			left := int32(total - before)
			before = total
			if left > 0 {
				if at >= holds[0].stamp {
					entries++
				}
				n := int32(min(w.of(at), int64(left)))
				if removed += uint32(n); n == left {
					continue
				}
			}
			setEntry(words, kept, at, total-removed)
			kept++
		}
		if words[chunkCount] = uint64(kept); kept == 0 {
			l.drop(c, r)
		}
		r = next
	}
	if removed == 0 {
		return entries
	}
	l.granted -= removed
	l.change = c.chunks.nextChange()
	if l.store(c); l.granted == l.expired {
		g.discard(c)
	}
	return entries
}

// chunkAt returns the last chunk that begins before a stamp, or the first, and the running total before
// it. Cost: a step for each chunk after it.
func (l *logState) chunkAt(c *cell, stamp Instant) (r chunkRef, before uint32) {
	for r = l.last; ; {
		words := c.chunks.words(r)
		previous := chunkRef(words[chunkLinks] >> 32)
		if previous == 0 {
			return r, l.expired
		}
		if at, _ := entry(words, 0); at < stamp {
			_, before = lastEntry(c.chunks.words(previous))
			return r, before
		}
		r = previous
	}
}

// each calls visit with the entries that count, in ascending order of their instants.
func (pendingLog) each(c *cell, now Instant, visit func(at Instant, permits int64)) {
	l := loadLog(c)
	l.expire(c, now)
	w := withdrawal{c.holds.items(), endedAmount(now)}
	l.each(c, func(at Instant, permits uint32) {
		if left := int64(permits) - w.of(at); left > 0 {
			visit(at, left)
		}
	})
}

func (g pendingLog) used(c *cell, now Instant) (used int64) {
	g.each(c, now, func(_ Instant, permits int64) { used += permits })
	return used
}

func (g pendingLog) until(c *cell, now Instant, target int64) (wait Span) {
	left := g.used(c, now)
	g.each(c, now, func(at Instant, permits int64) {
		if left > target {
			wait = spanOf(int64(at + Instant(c.params.Period) - now))
		}
		left -= permits
	})
	return wait
}
