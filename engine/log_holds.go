package engine

import "sort"

// entriesSince returns the number of entries at a stamp or later that have not expired. Cost: a binary search in
// each chunk with such entries.
func (slidingLog) entriesSince(c *cell, now, stamp Instant) (n int) {
	l := loadLog(c)
	l.expire(c, now)
	if l.expired == l.granted {
		return 0
	}
	for r := l.last; r != 0; {
		words := c.chunks.words(r)
		count := int(words[chunkCount])
		first := sort.Search(count, func(i int) bool {
			at, total := entry(words, i)
			return at >= stamp && int32(total-l.expired) > 0
		})
		if n += count - first; first > 0 {
			break
		}
		r = chunkRef(words[chunkLinks] >> 32)
	}
	return n
}

// giveBackAt removes up to n permits from the entry at a stamp. Cost: a step for each chunk, and a pass over the
// entries before this entry, or over the entries after it if fewer chunks follow than precede.
func (g slidingLog) giveBackAt(c *cell, now, stamp Instant, n int64) {
	l := loadLog(c)
	l.expire(c, now)
	if n == 0 || l.first == 0 || l.expired == l.granted {
		return
	}
	r, i := l.find(c, stamp)
	if r == 0 {
		return
	}
	words := c.chunks.words(r)
	_, total := entry(words, i)
	left := int32(total - l.before(c, r, i))
	if left <= 0 {
		return
	}
	cut := uint32(min(n, int64(left)))
	if l.startIsNear(c, r) {
		l.raiseBefore(c, r, i, cut)
	} else {
		l.lowerFrom(c, r, i, cut)
	}
	if int32(cut) == left {
		count := int(words[chunkCount])
		copy(words[chunkHead+i*entryWords:], words[chunkHead+(i+1)*entryWords:chunkHead+count*entryWords])
		if words[chunkCount] = uint64(count - 1); count == 1 {
			l.drop(c, r)
		}
	}
	l.change = c.chunks.nextChange()
	if l.store(c); l.granted == l.expired {
		g.discard(c)
	}
}

// find returns the chunk and the index of the entry at a stamp, or chunk 0. Requires: the log has a chunk.
func (l *logState) find(c *cell, stamp Instant) (chunkRef, int) {
	for r, _ := l.chunkAt(c, stamp); r != 0; {
		words := c.chunks.words(r)
		count := int(words[chunkCount])
		i := sort.Search(count, func(i int) bool {
			at, _ := entry(words, i)
			return at >= stamp
		})
		if i < count {
			if at, _ := entry(words, i); at != stamp {
				return 0, 0
			}
			return r, i
		}
		r = chunkRef(words[chunkLinks])
	}
	return 0, 0
}

// before returns the running total before entry i of a chunk, or expired if expired is greater.
func (l *logState) before(c *cell, r chunkRef, i int) (total uint32) {
	words := c.chunks.words(r)
	previous := chunkRef(words[chunkLinks] >> 32)
	switch {
	case i > 0:
		_, total = entry(words, i-1)
	case previous != 0:
		_, total = lastEntry(c.chunks.words(previous))
	default:
		return l.expired
	}
	if int32(total-l.expired) < 0 {
		return l.expired
	}
	return total
}

// startIsNear reports whether at most as many entries are in the chunks before a chunk as in those after it.
func (l *logState) startIsNear(c *cell, r chunkRef) bool {
	count := func(r chunkRef) int { return int(c.chunks.words(r)[chunkCount]) }
	for before, after, earlier, later := r, r, 0, 0; ; {
		switch {
		case earlier <= later && before == l.first:
			return true
		case earlier <= later:
			before = chunkRef(c.chunks.words(before)[chunkLinks] >> 32)
			earlier += count(before)
		case after == l.last:
			return false
		default:
			after = chunkRef(c.chunks.words(after)[chunkLinks])
			later += count(after)
		}
	}
}

// raiseBefore removes n permits from entry i of a chunk: it raises expired and the running totals of all earlier
// entries by n. So the permits seem to have been taken, and to have expired, before the first entry.
func (l *logState) raiseBefore(c *cell, r chunkRef, i int, n uint32) {
	l.expired += n
	for r != 0 {
		words := c.chunks.words(r)
		for i--; i >= 0; i-- {
			words[chunkHead+i*entryWords+1] = uint64(uint32(words[chunkHead+i*entryWords+1]) + n)
		}
		if r = chunkRef(words[chunkLinks] >> 32); r != 0 {
			i = int(c.chunks.words(r)[chunkCount])
		}
	}
}

// lowerFrom removes n permits from entry i of a chunk: it lowers granted and the running totals from this entry on.
func (l *logState) lowerFrom(c *cell, r chunkRef, i int, n uint32) {
	l.granted -= n
	for r != 0 {
		words := c.chunks.words(r)
		for count := int(words[chunkCount]); i < count; i++ {
			words[chunkHead+i*entryWords+1] = uint64(uint32(words[chunkHead+i*entryWords+1]) - n)
		}
		r, i = chunkRef(words[chunkLinks]), 0
	}
}
