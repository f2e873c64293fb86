package engine

// hashHolder returns the stored form of a holder's id.
func (s *shard) hashHolder(id []byte) holderID {
	keys := &s.secrets.holders
	return holderID{keys[0].Sum(id), keys[1].Sum(id)}
}

// acquire takes a lease for a holder, or renews the holder's lease, which a lower limit
// does not revoke.
func (s *shard) acquire(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, changed, ok := s.lookupWith(now, op, h)
	if !ok {
		s.cell.fillWrongType(now, used, d)
		return
	}
	var (
		c      = &s.cell
		lessor = c.alg().lessor
		id     = s.hashHolder(op.ID)
		holds  = lessor.holds(c, now, id)
	)
	switch {
	case holds: // needs no memory
		d.Allowed = 1
	case used >= op.Params.Limit:
		d.Wait = c.waitFor(now, 1, op.Params.Limit)
	default:
		if pl, ok = s.ensureMemory(now, op.Key, h, pl, 1); !ok {
			d.Status = NoMemory
			return
		}
		d.Allowed = 1
		used++
	}
	if d.Allowed == 1 {
		lessor.acquire(c, now, id, now+Instant(op.Params.Period))
		changed = true
	}
	c.fill(now, used, d)
	if changed {
		s.upsert(pl, h, op.Key, now.after(d.Reset))
	}
	d.Changed = changed
	s.countDecision(now, op, h, d)
	if op.Mode != 0 {
		s.applyMode(op, 1, d)
	}
}

// release returns a holder's lease; a key without holders is forgotten.
func (s *shard) release(now Instant, op *Op, h uint64, d *Decision) {
	pl, used := s.lookup(now, op.Key, h)
	c := &s.cell
	if pl.missing() {
		return
	}
	lessor := c.alg().lessor
	if lessor == nil {
		c.fillWrongType(now, used, d)
		return
	}
	if lessor.release(c, now, s.hashHolder(op.ID)) {
		d.Allowed, d.Changed = 1, true
		used--
		s.store(pl, now.after(c.meter().until(c, now, 0)))
	}
	c.fill(now, used, d)
	if used == 0 {
		s.remove(pl)
	}
}
