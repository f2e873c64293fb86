package engine

// name is how a holder's id is kept.
func (s *shard) name(id []byte) holderName {
	return holderName{s.names[0].sum(id), s.names[1].sum(id)}
}

// acquire takes a place for a holder, or renews the one that it has, which a
// lower limit does not take away.
func (s *shard) acquire(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, changed, ok := s.open(now, op, h)
	if !ok {
		s.cell.foreign(now, used, d)
		return
	}
	var (
		rule  lease
		c     = &s.cell
		name  = s.name(op.ID)
		holds = rule.holds(c, now, name)
	)
	switch {
	case holds: // takes no memory
		d.Allowed = 1
	case used >= op.Params.Limit:
		d.Wait = c.refusal(now, 1, op.Params.Limit)
	default:
		if pl, ok = s.ready(now, op.Key, h, pl, 1); !ok {
			d.Status = NoMemory
			return
		}
		d.Allowed = 1
		used++
	}
	if d.Allowed == 1 {
		rule.acquire(c, now, name, now+Instant(op.Params.Period))
		changed = true
	}
	c.view(now, used, d)
	if changed {
		s.keep(pl, h, op.Key, now.after(d.Reset))
	}
	d.Changed = changed
	s.answer(now, op, h, 1, d)
}

// release gives a holder's place back; a key without holders is forgotten.
func (s *shard) release(now Instant, op *Op, h uint64, d *Decision) {
	pl, used := s.lookup(now, op.Key, h)
	c := &s.cell
	switch {
	case pl.missing():
		return
	case c.params.Alg != Lease:
		c.foreign(now, used, d)
		return
	}
	if (lease{}).release(c, now, s.name(op.ID)) {
		d.Allowed, d.Changed = 1, true
		used--
		s.store(pl, now.after(c.rule().until(c, now, 0)))
	}
	c.view(now, used, d)
	if used == 0 {
		s.remove(pl)
	}
}
