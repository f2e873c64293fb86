package engine

import "encoding/binary"

// lease is the concurrency limit: a permit is a holder's place, used until the
// holder gives it back or its time ends.
//
// State: the roots of two treaps over the same holders, by name and by end, and
// the number of the last change among those of all leases of the shard. Every operation is O(log holders), but for the
// holders whose time has ended: a change takes up to maxEnded of them out.
type lease struct{}

const maxEnded = 16

// A holderName is the caller's id as two hashes under secret keys: 128 bits,
// so that two ids of one key do not meet.
type holderName struct{ a, b uint64 }

func (x holderName) less(y holderName) bool {
	return x.a < y.a || x.a == y.a && x.b < y.b
}

type leaseState struct {
	byName, byEnd nodeRef
	change        uint64
}

func loadLease(c *cell) leaseState {
	return leaseState{nodeRef(c.state[0] >> 32), nodeRef(c.state[0]), c.state[1]}
}

func (s *leaseState) store(c *cell) {
	c.state = state{uint64(s.byName)<<32 | uint64(s.byEnd), s.change}
}

func (lease) used(c *cell, now Instant) int64 {
	s := loadLease(c)
	return c.leases.size(s.byEnd) - c.leases.endedBy(s.byEnd, now)
}

func (l lease) until(c *cell, now Instant, target int64) Span {
	s := loadLease(c)
	all := c.leases.size(s.byEnd)
	if all-c.leases.endedBy(s.byEnd, now) <= target {
		return Span{}
	}
	return spanOf(int64(c.leases.end(s.byEnd, all-target-1) - now))
}

// take, give: places are taken and given back by name, with acquire and release.
func (lease) take(*cell, Instant, int64) { panic("engine: take of a lease") }
func (lease) give(*cell, Instant, int64) { panic("engine: give of a lease") }

// change leaves the holders as they are: a ttl holds from a renewal on, and a
// lower limit takes no place away.
func (lease) change(c *cell, _ Instant, p Params) { c.params = p }

// holds says whether the holder has a place at now.
func (lease) holds(c *cell, now Instant, name holderName) bool {
	s := loadLease(c)
	r := c.leases.find(s.byName, name)
	return r != 0 && c.leases.node(r).end > now
}

// acquire gives the holder a place until end, or moves the end of the one it has.
func (lease) acquire(c *cell, now Instant, name holderName, end Instant) {
	s := loadLease(c)
	s.dropEnded(c, now)
	if r := c.leases.find(s.byName, name); r != 0 {
		s.drop(c, r)
	}
	s.byName, s.byEnd = c.leases.insert(s.byName, s.byEnd, name, end)
	s.change = c.leases.nextChange()
	s.store(c)
}

// release takes the holder's place away and says whether it had one at now.
func (l lease) release(c *cell, now Instant, name holderName) bool {
	if !l.holds(c, now, name) {
		return false
	}
	s := loadLease(c)
	s.dropEnded(c, now)
	s.drop(c, c.leases.find(s.byName, name))
	s.change = c.leases.nextChange()
	s.store(c)
	return true
}

func (s *leaseState) drop(c *cell, r nodeRef) {
	s.byName, s.byEnd = c.leases.remove(s.byName, s.byEnd, r)
}

// dropEnded takes out a few holders whose time has ended.
func (s *leaseState) dropEnded(c *cell, now Instant) {
	for range maxEnded {
		r := c.leases.first(s.byEnd)
		if r == 0 || c.leases.node(r).end > now {
			return
		}
		s.drop(c, r)
	}
}

// sound: the words are made by read.
func (lease) sound(*cell, Instant) bool { return true }

func (lease) changed(c *cell) uint64 { return loadLease(c).change }

// write appends the holders whose time has not ended, in the order of their names.
func (lease) write(dst []byte, c *cell, now Instant) []byte {
	s := loadLease(c)
	dst = binary.AppendUvarint(dst, s.change)
	dst = binary.AppendUvarint(dst, uint64(c.leases.size(s.byEnd)-c.leases.endedBy(s.byEnd, now)))
	return c.leases.write(dst, s.byName, now)
}

// write appends the holders below a node by name whose end is after now.
func (m *leases) write(dst []byte, r nodeRef, now Instant) []byte {
	if r == 0 {
		return dst
	}
	n := m.node(r)
	dst = m.write(dst, n.byName[0], now)
	if n.end > now {
		dst = binary.BigEndian.AppendUint64(dst, n.name.a)
		dst = binary.BigEndian.AppendUint64(dst, n.name.b)
		dst = binary.AppendUvarint(dst, uint64(n.end-now))
	}
	return m.write(dst, n.byName[1], now)
}

func (lease) read(data []byte, _ *Params, now Instant, c *cell) (rest []byte, ok bool) {
	change, data, ok := takeNumber(data, maxChange)
	if !ok {
		return nil, false
	}
	n, data, ok := takeNumber(data, MaxListed)
	if !ok {
		return nil, false
	}
	var (
		s    = leaseState{change: change}
		last holderName
	)
	for i := range n {
		var (
			name []byte
			left uint64
		)
		if name, data, ok = takeBytes(data, nameBytes); !ok {
			return nil, false
		}
		x := holderName{binary.BigEndian.Uint64(name), binary.BigEndian.Uint64(name[8:])}
		if left, data, ok = takeNumber(data, MaxPeriod); !ok || left == 0 || i > 0 && !last.less(x) {
			return nil, false
		}
		last = x
		if c != nil {
			s.byName, s.byEnd = c.leases.insert(s.byName, s.byEnd, x, now+Instant(left))
		}
	}
	if c != nil {
		s.store(c)
		c.leases.changes = max(c.leases.changes, change)
	}
	return data, true
}

// discard releases all holders.
func (lease) discard(c *cell) {
	s := loadLease(c)
	c.leases.releaseAll(s.byEnd)
	c.state = state{}
}
