package engine

import "slices"

// A member is the key of an op of a group while the group is decided. It is found once.
type member struct {
	place        // of its record, live or expired; the zero place without a record
	moves uint32 // of the shard when the place was found
	used  int64  // permits in use then, under the parameters of the record
	same  bool   // the record is live, with the parameters of the op
	again bool   // an earlier op of the group has the same hash, and so perhaps the same key
	// brief is set if the decision has only Allowed, which is 1: see fillMember.
	brief bool
}

// beginGroup makes space for the members of the ops from..to-1.
func (b *Batch) beginGroup(from, to int) {
	b.scratch.group, b.scratch.members = from, slices.Grow(b.scratch.members[:0], to-from)[:to-from]
}

// member returns the member of op i. Requires: its key was found.
func (b *Batch) member(i int) *member { return &b.scratch.members[i-b.scratch.group] }

// findMember finds the key of op i of a group, and loads a live record into the cell. It
// changes only the cell, and settles the holds that have ended unless the group only looks.
func (s *shard) findMember(now Instant, b *Batch, i int, looking bool) *member {
	op, h, m := &b.Ops[i], b.scratch.hashes[i], b.member(i)
	*m = member{moves: s.moves}
	for _, earlier := range b.scratch.hashes[b.scratch.group:i] {
		m.again = m.again || earlier == h
	}
	p, slot, found := s.find(h, op.Key)
	if !found {
		return m
	}
	c := s.load(p, slot)
	m.page, m.slot, m.used = p.pageHead, slot, c.meter().used(c, now)
	if m.expired = m.used == 0; c.past.held != 0 && !m.expired && !looking {
		s.settleHolds(now, m.place)
	}
	m.same = !m.expired && c.params == op.Params
	return m
}

// isSettled reports whether the place and the parameters of a member are still those that
// findMember found, and the record needs no change of parameters: then the key need not be
// looked up again. Requires: its own op has changed nothing yet.
func (s *shard) isSettled(m *member) bool {
	return !m.again && (m.page == nil || m.moves == s.moves && (m.same || m.expired))
}

// isMissing reports whether op i of a group would create its key, as far as the members before
// it have not.
func (s *shard) isMissing(now Instant, op *Op, h uint64, m *member) bool {
	if m.moves == s.moves {
		return m.missing()
	}
	pl, _ := s.findLive(now, op.Key, h)
	return pl.missing()
}

// openMember is lookupWith for a member.
func (s *shard) openMember(now Instant, op *Op, h uint64, m *member) (pl place, used int64) {
	if !s.isSettled(m) {
		pl, used, _, _ = s.lookupWith(now, op, h)
		return pl, used
	}
	pl = m.place
	if pl.page != nil {
		if c := s.load(s.slab.open(pl.page), pl.slot); pl.expired && (c.tail() != nil || c.params.Alg != op.Params.Alg) {
			s.forgetExpired(pl)
			pl = place{}
		}
	}
	if pl.missing() {
		s.cell.params, s.cell.past, s.cell.state = op.Params, past{}, state{}
		return pl, 0
	}
	if s.frozen != nil && s.cell.copied() != nil {
		s.preserveTail(h)
	}
	return pl, m.used
}

// fillMember completes the decision on a member that passes by itself, of a group that does
// not. Requires: the shard is as findMember found it.
func (s *shard) fillMember(now Instant, op *Op, m *member, d *Decision) {
	c, used := &s.cell, int64(0)
	if m.missing() {
		c.params, c.past, c.state = op.Params, past{}, state{}
	} else {
		s.load(s.slab.open(m.page), m.slot)
		used = m.used
	}
	d.Wait = s.lookWait(now, op, used)
	c.fill(now, used, d)
}

// probePlace is probe for an Acquire.
func (s *shard) probePlace(now Instant, b *Batch, from, i int, d *Decision) {
	op, c := &b.Ops[i], &s.cell
	if b.member(i).missing() {
		c.past, c.state = past{}, state{}
	}
	c.params = op.Params
	used, limit := c.meter().used(c, now), op.Params.Limit
	switch earlier := s.newHolders(now, b, from, i); {
	case op.N == 0 || used+earlier < limit || c.alg().lessor.holds(c, now, s.hashHolder(op.ID)) || b.acquires(from, i, i):
		d.Allowed = 1
	default:
		d.Wait = c.waitFor(now, earlier+1, limit)
	}
	c.fill(now, used, d)
}

// newHolders returns the number of leases that the ops from..i-1 would add to the key of
// op i, which is in the cell.
func (s *shard) newHolders(now Instant, b *Batch, from, i int) (n int64) {
	c := &s.cell
	for j := from; j < i; j++ {
		if b.takesIn(j) && b.sameKey(i, j) && !c.alg().lessor.holds(c, now, s.hashHolder(b.Ops[j].ID)) &&
			!b.acquires(from, j, j) {
			n++
		}
	}
	return n
}

// acquires reports whether one of the ops from..to-1 gives the holder of op i a lease of its
// key, if the group passes.
func (b *Batch) acquires(from, to, i int) bool {
	for j := from; j < to; j++ {
		if b.takesIn(j) && b.sameKey(i, j) && string(b.Ops[j].ID) == string(b.Ops[i].ID) {
			return true
		}
	}
	return false
}
