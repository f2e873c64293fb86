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
	d.Wait = s.cell.hold(now)
	if op.Mode&Partial == 0 {
		d.Allowed = 1
	}
	s.cell.fill(now, used, d)
}

// previewOne fills d with the key's state and the answer that a Take of one permit would
// get, or a guard of a box.
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
