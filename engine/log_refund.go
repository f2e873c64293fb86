package engine

// giveBack removes the oldest permits granted at since or later. Removing the newest would return
// too much, because these count longest. If since is before the window, it removes no permits:
// the permits granted then no longer count.
//
// Cost: O(1) if it removes the oldest permits in use, otherwise O(entries at since or later).
func (g slidingLog) giveBack(c *cell, now, since Instant, n int64) bool {
	l := loadLog(c)
	l.expire(c, now)
	if since != unaged && since+Instant(c.params.Period) <= now || l.expired == l.granted {
		return false
	}
	earlier := l // without the permits granted before since
	if since > 0 {
		earlier.expireBefore(c, since-1)
	}
	before := earlier.expired
	n = min(n, int64(l.granted-before))
	switch {
	case n == 0:
		return false
	case n == int64(l.granted-l.expired):
		g.discard(c)
		return true
	case before == l.expired:
		l.expired += uint32(n)
		l.releaseExpired(c)
	default:
		l.cut(c, since, before, n)
	}
	l.change = c.chunks.nextChange()
	l.store(c)
	return true
}

// cut removes the n oldest permits granted at since or later. before is the running total of the
// permits granted earlier than since.
func (l *logState) cut(c *cell, since Instant, before uint32, n int64) {
	for r, reached := l.last, false; r != 0 && !reached; {
		words := c.chunks.words(r)
		kept := 0
		for i := range int(words[chunkCount]) {
			at, total := entry(words, i)
			switch {
			case at < since:
				reached = true
			case int64(total-before) <= n:
				continue
			default:
				total -= uint32(n)
			}
			setEntry(words, kept, at, total)
			kept++
		}
		words[chunkCount] = uint64(kept)
		next := chunkRef(words[chunkLinks] >> 32)
		if kept == 0 {
			l.drop(c, r)
		}
		r = next
	}
	l.granted -= uint32(n)
}

// refund removes the newest permits.
func (g slidingLog) refund(c *cell, now Instant, n int64) {
	l := loadLog(c)
	l.expire(c, now)
	if n >= int64(l.granted-l.expired) {
		g.discard(c)
		return
	}
	l.granted -= uint32(n)
	for l.trimLast(c) {
		l.drop(c, l.last)
	}
	l.change = c.chunks.nextChange()
	l.store(c)
}

// trimLast makes the last chunk end at l.granted. It reports whether the chunk is then empty.
// Requires: permits are in use.
func (l *logState) trimLast(c *cell) bool {
	words := c.chunks.words(l.last)
	for n := int(words[chunkCount]); n > 0; n-- {
		var before uint32
		if n > 1 {
			_, before = entry(words, n-2)
		} else if r := chunkRef(words[chunkLinks] >> 32); r != 0 {
			_, before = lastEntry(c.chunks.words(r))
		} else {
			before = l.expired
		}
		if int32(l.granted-before) > 0 {
			at, _ := entry(words, n-1)
			setEntry(words, n-1, at, l.granted)
			words[chunkCount] = uint64(n)
			return false
		}
	}
	return true
}
