package engine

import "encoding/binary"

// lease is the concurrency limit: a permit is a holder's lease, in use until the holder
// returns it or its time ends.
//
// State: the roots of two treaps over the same holders, by id and by end, and the number of
// the last change, counted over all leases of the shard. Cost: every operation is O(log
// holders), except that a change also removes up to maxEnded holders with a time that has
// ended.
type lease struct{}

const maxEnded = 16

// A holderID is the caller's id as two hashes under secret keys: 128 bits, so that two ids
// of the same key do not collide.
type holderID struct{ a, b uint64 }

func (x holderID) less(y holderID) bool {
	return x.a < y.a || x.a == y.a && x.b < y.b
}

type leaseState struct {
	byID, byEnd nodeRef
	change      uint64
}

func loadLease(c *cell) leaseState {
	return leaseState{nodeRef(c.state[0] >> 32), nodeRef(c.state[0]), c.state[1]}
}

func (s *leaseState) store(c *cell) {
	c.state = state{uint64(s.byID)<<32 | uint64(s.byEnd), s.change}
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

// migrate leaves the holders unchanged: a ttl applies from the next renewal on, and a
// lower limit revokes no lease.
func (lease) migrate(c *cell, _ Instant, p Params) { c.params = p }

func (lease) holds(c *cell, now Instant, id holderID) bool {
	s := loadLease(c)
	r := c.leases.find(s.byID, id)
	return r != 0 && c.leases.node(r).end > now
}

func (lease) acquire(c *cell, now Instant, id holderID, end Instant) {
	s := loadLease(c)
	s.dropEnded(c, now)
	if r := c.leases.find(s.byID, id); r != 0 {
		s.drop(c, r)
	}
	s.byID, s.byEnd = c.leases.insert(s.byID, s.byEnd, id, end)
	s.change = c.leases.nextChange()
	s.store(c)
}

func (l lease) release(c *cell, now Instant, id holderID) bool {
	if !l.holds(c, now, id) {
		return false
	}
	s := loadLease(c)
	s.dropEnded(c, now)
	s.drop(c, c.leases.find(s.byID, id))
	s.change = c.leases.nextChange()
	s.store(c)
	return true
}

func (s *leaseState) drop(c *cell, r nodeRef) {
	s.byID, s.byEnd = c.leases.remove(s.byID, s.byEnd, r)
}

// dropEnded removes up to maxEnded holders with a time that has ended.
func (s *leaseState) dropEnded(c *cell, now Instant) {
	for range maxEnded {
		r := c.leases.first(s.byEnd)
		if r == 0 || c.leases.node(r).end > now {
			return
		}
		s.drop(c, r)
	}
}

// valid: the words are built by read.
func (lease) valid(*cell, Instant) bool { return true }

func (lease) location(c *cell) uint64 { return c.state[0] }

func (lease) lastChange(c *cell) uint64 { return loadLease(c).change }

func (lease) print(c *cell) state { return state{loadLease(c).change} }

func (lease) changes(c *cell) uint64 { return c.leases.changes }

func (lease) growth(c *cell, _ Instant, _ int64) int { return c.leases.growth() }

func (lease) maxGrowth() int { return leasePageBytes }

func (lease) bytes(c *cell) int64 { return c.leases.size(loadLease(c).byEnd) * leaseNodeBytes }

// write appends the holders with a time that has not ended, in the order of their ids.
func (lease) write(dst []byte, c *cell, now Instant) []byte {
	s := loadLease(c)
	dst = binary.AppendUvarint(dst, s.change)
	dst = binary.AppendUvarint(dst, uint64(c.leases.size(s.byEnd)-c.leases.endedBy(s.byEnd, now)))
	return c.leases.write(dst, s.byID, now)
}

// write appends the holders below a node, in the order of ids, with an end after now.
func (m *leases) write(dst []byte, r nodeRef, now Instant) []byte {
	if r == 0 {
		return dst
	}
	n := m.node(r)
	dst = m.write(dst, n.byID[0], now)
	if n.end > now {
		dst = binary.BigEndian.AppendUint64(dst, n.id.a)
		dst = binary.BigEndian.AppendUint64(dst, n.id.b)
		dst = binary.AppendUvarint(dst, uint64(n.end-now))
	}
	return m.write(dst, n.byID[1], now)
}

func (lease) read(data []byte, now Instant, c *cell) (rest []byte, ok bool) {
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
		last holderID
	)
	for i := range n {
		var (
			id   []byte
			left uint64
		)
		if id, data, ok = takeBytes(data, holderIDBytes); !ok {
			return nil, false
		}
		x := holderID{binary.BigEndian.Uint64(id), binary.BigEndian.Uint64(id[8:])}
		if left, data, ok = takeNumber(data, MaxPeriod); !ok || left == 0 || i > 0 && !last.less(x) {
			return nil, false
		}
		last = x
		if !c.detached() {
			s.byID, s.byEnd = c.leases.insert(s.byID, s.byEnd, x, now+Instant(left))
		}
	}
	if !c.detached() {
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
