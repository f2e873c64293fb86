package engine

import "limitsrv/internal/invariants"

// An op loads its key into the cell of the shard, changes the cell, and stores it in the record.
// Invariant: outside of an op each record is complete, and the contents of the cell have no meaning.

// apply applies an op without a group, at now, to a key of this shard.
func (s *shard) apply(now Instant, op *Op, h uint64, d *Decision) {
	*d = Decision{}
	if op.readOnly() {
		s.applyReadOnly(now, op, h, d)
		return
	}
	switch op.Kind {
	case Take:
		s.take(now, op, h, d)
	case Refund:
		s.refund(now, op, h, d)
	case Charge:
		s.charge(now, op, h, d)
	case Forget:
		s.forget(now, op, h, d)
	case Acquire:
		s.acquire(now, op, h, d)
	case Release:
		s.release(now, op, h, d)
	}
	if invariants.Enabled && s.samples.ops.Next() {
		s.checkStates(now, s.pageOf(h))
	}
}

// lookup finds a live key, loads it into the cell and returns its permits in use. An expired
// key is missing, but its record stays for upsert, unless its state has a tail: then the key
// is forgotten.
func (s *shard) lookup(now Instant, key []byte, h uint64) (pl place, used int64) {
	p, i, found := s.find(h, key)
	if !found {
		return place{}, 0
	}
	pl.page, pl.slot = p.pageHead, i
	c := s.load(p, i)
	used = c.meter().used(c, now)
	if used == 0 {
		if c.tail() == nil {
			pl.expired = true
			return pl, 0
		}
		s.forgetExpired(pl)
		return place{}, 0
	}
	if s.frozen != nil && c.copied() != nil {
		s.preserveTail(h)
	}
	if c.past.held != 0 {
		s.settleHolds(now, pl)
	}
	return pl, used
}

// forgetExpired removes the record of an expired key.
func (s *shard) forgetExpired(pl place) {
	s.remove(pl)
	s.stats.Forgotten++
}

// missing reports whether there is no live key at the place.
func (pl place) missing() bool { return pl.page == nil || pl.expired }

// lookupWith is lookup for an op with parameters, which it puts into the cell. ok is
// false if the key belongs to another algorithm. changed is set if the record has other
// parameters, so that the cell must be stored.
func (s *shard) lookupWith(now Instant, op *Op, h uint64) (pl place, used int64, changed, ok bool) {
	pl, used = s.lookup(now, op.Key, h)
	if pl.expired && s.cell.params.Alg != op.Params.Alg {
		s.forgetExpired(pl)
		pl = place{}
	}
	used, changed, ok = s.applyParams(now, op, pl, used)
	return pl, used, changed, ok
}

// applyParams puts the cell, which holds the result of a lookup and is not stored yet,
// under the parameters of an op.
func (s *shard) applyParams(now Instant, op *Op, pl place, found int64) (used int64, changed, ok bool) {
	c := &s.cell
	switch {
	case pl.missing():
		c.params, c.past, c.state = op.Params, past{}, state{}
		return 0, false, true
	case c.params == op.Params:
		return found, false, true
	case c.params.Alg != op.Params.Alg:
		return found, false, false
	}
	c.meter().migrate(c, now, op.Params)
	return c.meter().used(c, now), true, true
}

// fill sets the fields of d that describe the cell, with used permits in use.
func (c *cell) fill(now Instant, used int64, d *Decision) {
	d.Params = c.params
	d.Remaining = max(0, c.params.Limit-used)
	if used > 0 {
		d.Reset = c.meter().until(c, now, 0)
	}
}

// fillWrongType answers an op of another algorithm with the state of the cell, with used
// permits in use.
func (c *cell) fillWrongType(now Instant, used int64, d *Decision) {
	d.Status = WrongType
	c.fill(now, used, d)
}

// waitFor returns the time until n more permits fit within bound, or Never.
func (c *cell) waitFor(now Instant, n, bound int64) Span {
	if n > bound {
		return Never
	}
	return c.meter().until(c, now, bound-n)
}

// hold returns how long permits taken now must be held before use.
func (c *cell) hold(now Instant) Span {
	if !c.alg().holds {
		return Span{}
	}
	return c.meter().until(c, now, 0)
}

// take decides a Take of at least one permit. It creates a missing key only if the Take
// passes.
func (s *shard) take(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, changed, ok := s.lookupWith(now, op, h)
	if !ok {
		s.cell.fillWrongType(now, used, d)
		return
	}
	c, limit := &s.cell, op.Params.Limit
	n, room := op.N, max(0, limit-used)
	if op.Mode&Partial != 0 && n > room && room > 0 {
		n = room
	}
	switch {
	case n > room:
		if op.Mode&Partial != 0 {
			n = 1
		}
		d.Wait = c.waitFor(now, n, limit)
	default:
		if pl, ok = s.ensureMemory(now, op.Key, h, pl, n); !ok {
			d.Status = NoMemory
			return
		}
		d.Allowed, d.Wait = 1, c.hold(now)
		c.limiter().take(c, now, n)
		used, changed = used+n, true
		if !c.past.isZero() {
			used = c.meter().used(c, now)
		}
	}
	c.fill(now, used, d)
	if changed {
		s.upsert(pl, h, op.Key, now.after(d.Reset))
	}
	d.Changed = changed
	s.countDecision(now, op, h, d)
	if op.Mode != 0 {
		s.applyMode(op, n, d)
	}
}

// countDecision counts a decision.
func (s *shard) countDecision(now Instant, op *Op, h uint64, d *Decision) {
	denied := d.Allowed == 0
	if denied {
		s.stats.Denied[op.Params.Alg]++
	} else {
		s.stats.Allowed[op.Params.Alg]++
	}
	if !s.countsLater {
		s.countKey(now, op, h, denied)
	}
}

// countKey counts the key of a decision. Requires: now is not before the now of an earlier call.
func (s *shard) countKey(now Instant, op *Op, h uint64, denied bool) {
	s.tops[TopHot].Current(int64(now), &s.topScratch).Count(h, op.DB, op.Key, &s.topScratch)
	if denied {
		s.tops[TopDenied].Current(int64(now), &s.topScratch).Count(h, op.DB, op.Key, &s.topScratch)
	}
}

// applyMode applies the mode of an op without a group to the answer of a decision about n
// permits.
func (s *shard) applyMode(op *Op, n int64, d *Decision) {
	partial := op.Mode&Partial != 0
	if partial && d.Allowed == 1 {
		d.Allowed = n
	}
	if op.Mode&Shadow == 0 {
		return
	}
	if d.Allowed == 0 {
		s.stats.ShadowDenied++
	}
	d.Allowed = 1
	if partial {
		d.Allowed = op.N
	}
}

// ensureMemory makes memory available for taking n permits of the cell's key. It returns
// the key's place, which may have moved, and whether there is enough memory; there is never
// enough for a new key in a batch that is Full. The cell is unchanged.
func (s *shard) ensureMemory(now Instant, key []byte, h uint64, pl place, n int64) (place, bool) {
	c, a := &s.cell, s.cell.alg()
	record, grow := 0, 0
	if pl.missing() {
		if s.full {
			s.stats.Refused++
			return pl, false
		}
		if !pl.expired {
			record = recordBytes(a.words, len(key))
		}
	}
	if a.growth != nil {
		grow = a.growth.growth(c, now, n)
	}
	if grow == 0 && (record == 0 || s.pageOf(h).fits(record)) {
		return pl, true
	}
	kept := *c
	ok := s.makeRoom(h, record, grow, now)
	*c = kept
	if !pl.missing() {
		p, i, _ := s.find(h, key) // its page may have been repacked
		pl.page, pl.slot = p.pageHead, i
	}
	return pl, ok
}

// upsert writes the cell to its record, creating it if missing. The record of an expired
// key is used again: a new record would cost as much as the decision. The key expires at
// expiry.
func (s *shard) upsert(pl place, h uint64, key []byte, expiry Instant) {
	switch {
	case pl.page == nil:
		s.insert(h, key, expiry)
		return
	case pl.expired:
		s.stats.Forgotten++
		s.reuse.used++
	}
	s.store(pl, expiry)
}

// lookupCountable is lookup for ops that count permits. If it can not return a suitable
// key, it answers the op.
func (s *shard) lookupCountable(now Instant, op *Op, h uint64, d *Decision) (pl place, used int64, ok bool) {
	pl, used = s.lookup(now, op.Key, h)
	return pl, used, s.countable(now, op, pl, used, d)
}

// countable reports whether permits of the key found can be counted: they are not leases,
// and it has the algorithm that the op names, if any. If not, it answers the op.
func (s *shard) countable(now Instant, op *Op, pl place, used int64, d *Decision) bool {
	switch c := &s.cell; {
	case pl.missing():
		d.Status = Missing
	case c.alg().limiter == nil || op.Params.Limit > 0 && op.Params.Alg != c.params.Alg:
		s.cell.fillWrongType(now, used, d)
	}
	return d.Status == OK
}

// forget drops a live key and shrinks its page.
func (s *shard) forget(now Instant, op *Op, h uint64, d *Decision) {
	pl, _ := s.lookup(now, op.Key, h)
	if !pl.missing() {
		s.remove(pl)
		s.shrink(s.slab.open(pl.page))
		d.Allowed, d.Changed = 1, true
		if op.evicts() {
			s.stats.Evicted++
		}
	}
}

// findLive finds a live key, loads it into the cell and returns its permits in use. It
// changes only the cell.
func (s *shard) findLive(now Instant, key []byte, h uint64) (pl place, used int64) {
	p, i, found := s.find(h, key)
	if !found {
		return place{}, 0
	}
	c := s.load(p, i)
	if used = c.meter().used(c, now); used == 0 {
		return place{}, 0
	}
	return place{page: p.pageHead, slot: i}, used
}
