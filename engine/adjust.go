package engine

// refund applies a Refund. A key that is full again is removed.
func (s *shard) refund(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, ok := s.lookupCountable(now, op, h, d)
	if !ok {
		return
	}
	c := &s.cell
	if !op.isAdjusting() {
		c.limiter().refund(c, now, op.N)
	} else if !c.limiter().giveBack(c, now, op.since(now), op.N) {
		c.previewOne(now, used, d)
		d.Allowed = 0
		return
	}
	used = c.meter().used(c, now)
	c.previewOne(now, used, d)
	s.store(pl, now.after(d.Reset))
	d.Changed = true
	d.Allowed = 1
	if used == 0 {
		s.remove(pl)
	}
}

// charge applies a Charge: it takes permits, up to one limit of debt. The Wait of the decision is
// the time until the debt is repaid or, if the whole Charge is denied, until it would pass.
func (s *shard) charge(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, ok := s.lookupChargeable(now, op, h, d)
	if !ok {
		return
	}
	c, limit, n := &s.cell, s.cell.params.Limit, op.N
	if op.isAdjusting() {
		n = min(n, max(0, 2*limit-used))
	}
	switch {
	case n == 0: // no permit fits
		d.Wait = c.meter().until(c, now, limit)
	case used+n > 2*limit:
		d.Wait = c.waitFor(now, n, 2*limit)
	default:
		if pl, ok = s.ensureMemory(now, op.Key, h, pl, n); !ok {
			d.Status, d.Changed = NoMemory, false
			return
		}
		c.limiter().take(c, now, n)
		used = c.meter().used(c, now)
		d.Changed, d.Allowed = true, charged(op, n)
		d.Wait = c.meter().until(c, now, limit)
	}
	if n < op.N {
		s.stats.ChargesCut++
	}
	c.fill(now, used, d)
	if d.Changed {
		s.upsert(pl, h, op.Key, now.after(d.Reset))
	}
}

// charged returns the Allowed of a Charge that took n permits.
func charged(op *Op, n int64) int64 {
	switch {
	case op.Mode&Partial != 0:
		return n
	case n == op.N:
		return 1
	}
	return 0
}

// lookupChargeable is lookupCountable for a Charge. If the Charge has Params, the key is migrated
// to them, which sets Changed, and a missing key counts as a new key.
func (s *shard) lookupChargeable(now Instant, op *Op, h uint64, d *Decision) (pl place, used int64, ok bool) {
	if op.Params.Limit == 0 {
		return s.lookupCountable(now, op, h, d)
	}
	pl, used, d.Changed, ok = s.lookupWith(now, op, h)
	if !ok || s.cell.alg().limiter == nil {
		s.cell.fillWrongType(now, used, d)
		return pl, used, false
	}
	return pl, used, true
}
