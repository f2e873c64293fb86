package engine

import "encoding/binary"

// write appends the entries that count, each without its expired permits.
func (slidingLog) write(dst []byte, c *cell, now Instant) []byte {
	l := loadLog(c)
	l.expire(c, now)
	dst = binary.AppendUvarint(dst, l.change)
	var n uint64
	l.each(c, func(Instant, uint32) { n++ })
	dst = binary.AppendUvarint(dst, n)
	before := Instant(0)
	l.each(c, func(at Instant, permits uint32) {
		dst = binary.AppendUvarint(dst, uint64(at-before))
		dst = binary.AppendUvarint(dst, uint64(permits))
		before = at
	})
	return dst
}

// each calls visit with the entries that count, in ascending order of their instants.
func (l *logState) each(c *cell, visit func(at Instant, permits uint32)) {
	total := l.expired
	for r := l.first; r != 0; {
		words := c.chunks.words(r)
		for i := range int(words[chunkCount]) {
			at, sum := entry(words, i)
			if int32(sum-total) > 0 {
				visit(at, sum-total)
				total = sum
			}
		}
		r = chunkRef(words[chunkLinks])
	}
}

// read takes the entries one by one, as they were taken originally.
func (g slidingLog) read(data []byte, now Instant, c *cell) (rest []byte, ok bool) {
	change, data, ok := takeNumber(data, maxChange)
	if !ok {
		return nil, false
	}
	n, data, ok := takeNumber(data, 2*MaxListed)
	if !ok {
		return nil, false
	}
	var (
		at   = Instant(0)
		left = uint64(2 * MaxListed)
	)
	for i := range n {
		var after, permits uint64
		if after, data, ok = takeNumber(data, uint64(now-at)); !ok {
			return nil, false
		}
		at += Instant(after)
		if permits, data, ok = takeNumber(data, left); !ok || permits == 0 || i > 0 &&
			after == 0 || now-at >= Instant(c.params.Period) {
			return nil, false
		}
		left -= permits
		if !c.detached() {
			g.take(c, at, int64(permits))
		}
	}
	if !c.detached() {
		l := loadLog(c)
		l.change = change
		l.store(c)
		c.chunks.changes = max(c.chunks.changes, change)
	}
	return data, true
}
