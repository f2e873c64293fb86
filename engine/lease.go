package engine

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

// discard releases all holders.
func (lease) discard(c *cell) {
	s := loadLease(c)
	c.leases.releaseAll(s.byEnd)
	c.state = state{}
}
