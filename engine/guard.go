package engine

// passGuards finds the boxes of the guards of a group, and reports whether all are open. If a
// box is closed, it answers the group. If a box has the wrong algorithm, it also answers the
// group, and right is false.
func (e *Engine) passGuards(now Instant, b *Batch, from, to int) (open, right bool) {
	open = true
	for i := from; i < to; i++ {
		op, s, d := &b.Ops[i], &e.shards[b.scratch.shards[i]], &b.Decisions[i]
		if op.Mode != Guard {
			continue
		}
		*d = Decision{}
		m := s.findMember(now, b, i, true)
		if !s.checkAlg(now, b, from, i, m) {
			e.failMember(b, from, to, i)
			return false, false
		}
		s.applyParams(now, op, m.place, m.used)
		s.cell.fillBox(now, d)
		open = open && d.Allowed == 1
	}
	if open {
		return true, true
	}
	changed := false
	for i := from; i < to; i++ {
		op, d, h := &b.Ops[i], &b.Decisions[i], b.scratch.hashes[i]
		switch s := &e.shards[b.scratch.shards[i]]; {
		case op.Mode != Guard:
			*d = Decision{}
		case op.N > 0:
			if d.Allowed == 0 && op.Params.Growth&extendFlag != 0 {
				s.extend(now, op, h, d)
				changed = true
			}
			s.countDecision(now, op, h, d)
		}
	}
	for i := from; i < to; i++ {
		b.Decisions[i].Changed = changed
	}
	return false, true
}

// strikes reports whether the guard i, in a group that ends before to and is refused, gives
// a strike.
func (b *Batch) strikes(i, to int) bool {
	if b.Ops[i].N == 0 {
		return false
	}
	for j := i + 1; j < to && b.Ops[j].Mode != Guard; j++ {
		if b.Ops[j].Mode == 0 && b.Decisions[j].Allowed == 0 {
			return true
		}
	}
	return false
}

// ensureStrikes reports whether there is memory for the strikes of a refused group.
func (e *Engine) ensureStrikes(now Instant, b *Batch, from, to int) bool {
	for i := from; i < to; i++ {
		op, s, h := &b.Ops[i], &e.shards[b.scratch.shards[i]], b.scratch.hashes[i]
		if op.Mode != Guard || !b.strikes(i, to) {
			continue
		}
		if b.Full && s.isMissing(now, op, h, b.member(i)) || e.memory.most.Load() > 0 && !s.ensureMember(now, b, i, to-from) {
			s.stats.Refused++
			return false
		}
	}
	return true
}

// strike gives a strike to the box of a guard, which is open unless an earlier guard of the
// group has closed it. It reports whether it did. Requires: there is memory.
func (s *shard) strike(now Instant, op *Op, h uint64, d *Decision) bool {
	pl, _, _, _ := s.lookupWith(now, op, h)
	c := &s.cell
	if c.fillBox(now, d); d.Allowed == 0 {
		d.Allowed = 1
		return false
	}
	c.strike(now)
	if c.fillBox(now, d); d.Allowed == 0 {
		s.noteClosed(h, op.Key)
	}
	d.Allowed = 1
	s.upsert(pl, h, op.Key, now.after(d.Reset))
	return true
}

// extend begins the block of the box of a guard again, which is closed.
func (s *shard) extend(now Instant, op *Op, h uint64, d *Decision) {
	pl, _, _, _ := s.lookupWith(now, op, h)
	c := &s.cell
	c.extend(now)
	c.fillBox(now, d)
	s.store(pl, now.after(d.Reset))
}

// noteClosed notes the box in the cell, with a key.
func (s *shard) noteClosed(hash uint64, key []byte) {
	s.closings.note(hash, key, max(notedBoxes>>s.bits, minNotedBoxes))
}
