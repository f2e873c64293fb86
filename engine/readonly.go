package engine

// applyReadOnly answers a read-only op. It changes only the cell.
func (s *shard) applyReadOnly(now Instant, op *Op, h uint64, d *Decision) {
	*d = Decision{}
	if op.Kind == Expect { // it held, or the batch would be aborted
		return
	}
	pl, used := s.findLive(now, op.Key, h)
	c := &s.cell
	switch op.Kind {
	case Take, Acquire:
		s.previewTake(now, op, pl, used, d)
	case Peek:
		if pl.missing() {
			d.Status = Missing
			return
		}
		c.previewOne(now, used, d)
	case Refund, Charge:
		if op.isAdjusting() && op.Params.Limit > 0 && op.Kind == Charge && op.Params.alg().limiter != nil {
			s.previewCharge(now, op, pl, used, d)
			return
		}
		if !s.countable(now, op, pl, used, d) {
			return
		}
		if op.Kind == Refund {
			c.previewOne(now, used, d)
		} else {
			c.fill(now, used, d)
			d.Wait = c.meter().until(c, now, c.params.Limit)
		}
		d.Allowed = 1
	case Watch:
		if !pl.missing() {
			d.Remaining = s.cellFingerprint()
		}
	}
}

// previewTake answers a Take of no permits: the state of the key under the parameters of
// the op. Under Partial, Allowed is the number granted, which is 0.
func (s *shard) previewTake(now Instant, op *Op, pl place, found int64, d *Decision) {
	changes := s.chunks.changes
	used, _, ok := s.applyParams(now, op, pl, found)
	s.chunks.changes = changes // a log's change of the cell is discarded
	if !ok {
		s.cell.fillWrongType(now, used, d)
		return
	}
	d.Wait = s.lookWait(now, op, used)
	if op.Mode&Partial == 0 {
		d.Allowed = 1
	}
	s.cell.fill(now, used, d)
}

// lookWait returns the Wait of a Take or Acquire with N = 0 when used permits are in use. It is how
// long permits are held or, if the permits that the op looks for are not left, the time until they
// are.
func (s *shard) lookWait(now Instant, op *Op, used int64) Span {
	c, n := &s.cell, op.looksFor()
	if n == 0 || used+n <= op.Params.Limit || op.Kind == Acquire && c.alg().lessor.holds(c, now, s.hashHolder(op.ID)) {
		return c.hold(now)
	}
	return c.waitFor(now, n, op.Params.Limit)
}

// previewCharge answers a Charge with N = 0 and Params: the state of the key under these, and the
// time until its debt is repaid.
func (s *shard) previewCharge(now Instant, op *Op, pl place, found int64, d *Decision) {
	s.previewTake(now, op, pl, found, d)
	if d.Status == OK {
		d.Wait = s.cell.meter().until(&s.cell, now, s.cell.params.Limit)
	}
}

// previewOne fills d with the key's state and the answer that a Take of a permit would get,
// or a guard of a box.
func (c *cell) previewOne(now Instant, used int64, d *Decision) {
	if c.params.Alg == Box {
		c.fillBox(now, d)
		return
	}
	if used < c.params.Limit {
		d.Allowed, d.Wait = 1, c.hold(now)
	} else {
		d.Wait = c.waitFor(now, 1, c.params.Limit)
	}
	c.fill(now, used, d)
}
