package engine

import (
	"encoding/binary"
	"math"
)

// holding is the limiter and the tail of a key with holds: the limiter of the key without holds, to
// which the holds that have ended give back first.
//
// The words of the state are the words without holds, and the number of the list of holds. The list is
// the tail, with the tail of the key without holds, if it has a tail.
type holding struct{}

var holdingMethods = counted(holding{})

func (holding) used(c *cell, now Instant) int64 {
	if c.hasEnded(now) {
		return c.usedSettled(now)
	}
	ref := c.bare()
	used := c.meter().used(c, now)
	c.dress(ref)
	return used
}

func (holding) until(c *cell, now Instant, target int64) Span {
	if c.hasEnded(now) {
		return c.untilSettled(now, target)
	}
	ref := c.bare()
	wait := c.meter().until(c, now, target)
	c.dress(ref)
	return wait
}

func (c *cell) usedSettled(now Instant) int64 {
	x := c.settled(now)
	return x.meter().used(x, now)
}

func (c *cell) untilSettled(now Instant, target int64) Span {
	x := c.settled(now)
	return x.meter().until(x, now, target)
}

// settled returns a copy of the cell in which the holds that have ended are settled. It shares
// nothing that may change. Cost: it allocates; for a chunked tail linear in the entries.
func (c *cell) settled(now Instant) *cell {
	x := *c
	if c.alg().chunked {
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

// take lowers the mark of the last hold: from now on less can be given back.
func (holding) take(c *cell, now Instant, n int64) {
	c.settleEnded(now)
	if c.marks() {
		c.holds = c.holds.lowered(bucket{}.owed(c, now))
	}
	ref := c.bare()
	c.limiter().take(c, now, n)
	c.dress(ref)
}

func (holding) giveBack(c *cell, now, since Instant, n int64) (given bool) {
	c.settleEnded(now)
	owed := bucket{}.owed(c, now)
	ref := c.bare()
	given = c.limiter().giveBack(c, now, since, n)
	c.dress(ref)
	c.noteGiven(now, owed)
	return given
}

func (holding) refund(c *cell, now Instant, n int64) {
	c.settleEnded(now)
	owed := bucket{}.owed(c, now)
	ref := c.bare()
	c.limiter().refund(c, now, n)
	c.dress(ref)
	c.noteGiven(now, owed)
}

// noteGiven lowers the marks of a bucket by the time that was given back since owed was the time owed.
func (c *cell) noteGiven(now Instant, owed wide) {
	if c.marks() {
		c.holds = c.holds.fallen(owed.subSaturating(bucket{}.owed(c, now)))
	}
}

// migrate drops the holds if the window or the rate changes: their permits then stay taken. It
// changes only the cell, so the holds of a log that have ended are settled before, or stay taken.
func (holding) migrate(c *cell, now Instant, p Params) {
	if p.Count != c.params.Count || p.Period != c.params.Period || p.Calendar != c.params.Calendar {
		if !c.alg().chunked {
			c.settleEnded(now)
		}
		c.holds = &noHolds
	}
	ref := c.bare()
	c.meter().migrate(c, now, p)
	c.dress(ref)
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
	for i := range c.holds.items {
		h, mark := &c.holds.items[i], c.holds.mark(i)
		x.add(h.id, uint64(h.stamp))
		x.add(uint64(h.end), uint64(h.n))
		x.add(uint64(h.keep), mark.hi)
		x.add(mark.lo, 0)
	}
	words[c.alg().words] = uint64(x)
	return words
}

func (holding) bytes(c *cell) int64 {
	bytes := holdListBytes + int64(cap(c.holds.items))*holdBytes
	if t := c.alg().tail; t != nil {
		bytes += t.bytes(c)
	}
	return bytes
}

// write appends the tail without holds, or 0 and the words without holds; and the holds.
func (holding) write(dst []byte, c *cell, now Instant) []byte {
	if t := c.alg().tail; t != nil {
		dst = t.write(dst, c, now)
	} else {
		dst = append(dst, 0)
		for _, w := range c.state[:c.alg().words] {
			dst = binary.LittleEndian.AppendUint64(dst, w)
		}
	}
	l := c.holds
	dst = binary.AppendUvarint(dst, uint64(len(l.items)))
	for i := range l.items {
		h, mark := &l.items[i], l.mark(i)
		dst = binary.LittleEndian.AppendUint64(dst, h.id)
		for _, n := range [...]uint64{uint64(h.stamp), uint64(h.end), uint64(h.n), uint64(h.keep), mark.hi, mark.lo} {
			dst = binary.AppendUvarint(dst, n)
		}
	}
	return dst
}

func (holding) read(data []byte, now Instant, c *cell) (rest []byte, ok bool) {
	c.bare()
	defer c.dress(0)
	if t := c.alg().tail; t != nil {
		data, ok = t.read(data, now, c)
	} else if _, data, ok = takeNumber(data, 0); ok {
		if data, ok = takeState(data, c.alg().words, &c.state); ok {
			m := c.meter()
			ok = m != nil && m.valid(c, now)
		}
	}
	if !ok {
		return nil, false
	}
	n, data, ok := takeNumber(data, MaxHolds)
	if !ok {
		return nil, false
	}
	var items []hold
	for range n {
		var h hold
		if h, data, ok = takeHold(data, now); !ok || len(items) > 0 && h.stamp < items[len(items)-1].stamp {
			return nil, false
		}
		items = append(items, h)
	}
	c.holds = listOf(items)
	return data, true
}

// takeHold takes a hold with its mark off data.
func takeHold(data []byte, now Instant) (h hold, rest []byte, ok bool) {
	id, data, ok := takeBytes(data, wordBytes)
	if !ok {
		return h, nil, false
	}
	h.id = binary.LittleEndian.Uint64(id)
	var numbers [6]uint64
	for i, most := range [...]uint64{uint64(now), uint64(latest), MaxLimit, MaxLimit, math.MaxUint64, math.MaxUint64} {
		if numbers[i], data, ok = takeNumber(data, most); !ok {
			return h, nil, false
		}
	}
	h.stamp, h.end = Instant(numbers[0]), Instant(numbers[1])
	h.n, h.keep, h.mark = int64(numbers[2]), int64(numbers[3]), wide{numbers[4], numbers[5]}
	return h, data, h.end >= h.stamp && h.keep <= h.n
}
