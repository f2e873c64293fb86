package engine

// tell answers an op that only looks. It changes nothing but the cell.
func (s *shard) tell(now Instant, op *Op, h uint64, d *Decision) {
	*d = Decision{}
	if op.Kind == Expect { // has held, or its batch would be aborted
		return
	}
	pl, used := s.findLive(now, op.Key, h)
	c := &s.cell
	switch op.Kind {
	case Take:
		s.tellTake(now, op, pl, used, d)
	case Peek:
		if pl.missing() {
			d.Status = Missing
			return
		}
		c.look(now, used, d)
	case Refund, Charge:
		if !s.countable(now, op, pl, used, d) {
			return
		}
		if op.Kind == Refund {
			c.look(now, used, d)
		} else {
			c.view(now, used, d)
			d.Wait = c.rule().until(c, now, c.params.Limit)
		}
		d.Allowed = 1
	case Watch:
		if !pl.missing() {
			d.Remaining = s.print()
		}
	}
}

// tellTake answers a Take of no permits: the state of the key under the parameters
// of the op. Under Partial, Allowed is the number granted, which is 0.
func (s *shard) tellTake(now Instant, op *Op, pl place, found int64, d *Decision) {
	changes := s.chunks.changes
	used, _, ok := s.adopt(now, op, pl, found)
	s.chunks.changes = changes // what a log counted for the cell does not come to be
	if !ok {
		s.cell.foreign(now, used, d)
		return
	}
	d.Wait = s.cell.hold(now)
	if op.Mode&Partial == 0 {
		d.Allowed = 1
	}
	s.cell.view(now, used, d)
}

// look is the view of a key with the answer that one permit more would get.
func (c *cell) look(now Instant, used int64, d *Decision) {
	if used < c.params.Limit {
		d.Allowed, d.Wait = 1, c.hold(now)
	} else {
		d.Wait = c.refusal(now, 1, c.params.Limit)
	}
	c.view(now, used, d)
}
