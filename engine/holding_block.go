package engine

import (
	"encoding/binary"
	"math"
)

// write appends the tail without holds, or 0 and the words without holds; and the holds.
func (holding) write(dst []byte, c *cell, now Instant) []byte {
	if t := c.alg().tail; t != nil {
		dst = t.write(dst, c, now)
	} else {
		dst = appendState(append(dst, 0), c.alg().words, &c.state)
	}
	l := &c.holds
	dst = binary.AppendUvarint(dst, uint64(l.len()))
	items, r := l.items(), markReader{list: l}
	for i := range items {
		h, mark := &items[i], r.of(i)
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
	list, newest := noHolds, Instant(0)
	for range n {
		var (
			h    hold
			mark wide
		)
		if h, mark, data, ok = takeHold(data, now); !ok || h.stamp < newest {
			return nil, false
		}
		newest = h.stamp
		list.add(h)
		list.last = mark
	}
	c.holds = list
	return data, true
}

// takeHold takes a hold with its mark off data.
func takeHold(data []byte, now Instant) (h hold, mark wide, rest []byte, ok bool) {
	id, data, ok := takeBytes(data, wordBytes)
	if !ok {
		return h, mark, nil, false
	}
	h.id = binary.LittleEndian.Uint64(id)
	var numbers [6]uint64
	for i, most := range [...]uint64{uint64(now), uint64(latest), MaxLimit, MaxLimit, math.MaxUint64, math.MaxUint64} {
		if numbers[i], data, ok = takeNumber(data, most); !ok {
			return h, mark, nil, false
		}
	}
	h.stamp, h.end = Instant(numbers[0]), Instant(numbers[1])
	h.n, h.keep = int64(numbers[2]), int64(numbers[3])
	return h, wide{numbers[4], numbers[5]}, data, h.end >= h.stamp && h.keep <= h.n
}
