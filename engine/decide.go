package engine

// apply carries out one op that stands alone, at now, on a key of this shard.
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
}

// lookup finds a live key, loads it into the cell and tells what is used of it. A
// rested key that it comes across is forgotten.
func (s *shard) lookup(now Instant, key []byte, h uint64) (pl place, used int64) {
	p, i, found := s.find(h, key)
	if !found {
		return place{}, 0
	}
	pl = place{p.pageHead, i}
	c := s.load(p, i)
	used = c.limiter().used(c, now)
	if used == 0 {
		s.remove(pl)
		s.stats.Forgotten++
		return place{}, 0
	}
	if s.frozen != nil && c.alg().tail != nil {
		s.preserveTail(h)
	}
	return pl, used
}

func (pl place) missing() bool { return pl.page == nil }

// open is lookup for an op with parameters, which the cell has from then on; ok
// is false where the key belongs to another algorithm. changed says that the
// record has other parameters, so that the cell is to be stored.
func (s *shard) lookupWith(now Instant, op *Op, h uint64) (pl place, used int64, changed, ok bool) {
	pl, used = s.lookup(now, op.Key, h)
	used, changed, ok = s.applyParams(now, op, pl, used)
	return pl, used, changed, ok
}

// adopt puts what was found, which is in the cell and nowhere else so far, under
// the parameters of an op.
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
	c.limiter().migrate(c, now, op.Params)
	return c.limiter().used(c, now), true, true
}

// view fills in how the cell stands, with used permits used.
func (c *cell) fill(now Instant, used int64, d *Decision) {
	d.Params = c.params
	d.Remaining = max(0, c.params.Limit-used)
	if used > 0 {
		d.Reset = c.limiter().until(c, now, 0)
	}
}

// foreign answers an op of another algorithm: how the cell stands, with used permits
// used.
func (c *cell) fillWrongType(now Instant, used int64, d *Decision) {
	d.Status = WrongType
	c.fill(now, used, d)
}

// refusal is how long until n more permits would pass where used are used.
func (c *cell) waitFor(now Instant, n, bound int64) Span {
	if n > bound {
		return Never
	}
	return c.limiter().until(c, now, bound-n)
}

// hold is how long to hold what is taken now.
func (c *cell) hold(now Instant) Span {
	if !c.alg().holds {
		return Span{}
	}
	return c.limiter().until(c, now, 0)
}

// take decides about a Take of at least one permit: a missing key is made only if it passes.
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
			used = c.limiter().used(c, now)
		}
	}
	c.fill(now, used, d)
	if changed {
		s.upsert(pl, h, op.Key, now.after(d.Reset))
	}
	d.Changed = changed
	s.countDecision(now, op, h, n, d)
}

// answer counts a decision and says it as the op wants it said: n permits were
// granted or refused.
func (s *shard) countDecision(now Instant, op *Op, h uint64, n int64, d *Decision) {
	alg := op.Params.Alg
	s.tops[TopHot].current(now, &s.topScratch).count(h, op.Key, &s.topScratch)
	if d.Allowed == 0 {
		s.stats.Denied[alg]++
		s.tops[TopDenied].current(now, &s.topScratch).count(h, op.Key, &s.topScratch)
	} else {
		s.stats.Allowed[alg]++
	}
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

// ready sees to the memory for taking n permits of the cell's key, and says
// whether there is enough, and where the key is then; there is none for a new key
// of a batch that is Full. The cell stays as it is.
func (s *shard) ensureMemory(now Instant, key []byte, h uint64, pl place, n int64) (place, bool) {
	c := &s.cell
	record, grow := 0, 0
	if pl.missing() {
		if s.full {
			s.stats.Refused++
			return pl, false
		}
		record = recordBytes(c.alg().words, len(key))
	}
	switch c.params.Alg {
	case Log:
		grow = slidingLog{}.growth(c, now, n)
	case Lease:
		grow = c.leases.growth()
	}
	if grow == 0 && (record == 0 || s.pageOf(h).fits(record)) {
		return pl, true
	}
	kept := *c
	ok := s.makeRoom(h, key, record, grow, now)
	*c = kept
	if !pl.missing() {
		p, i, _ := s.find(h, key) // its page may have been packed
		pl = place{p.pageHead, i}
	}
	return pl, ok
}

// keep writes the cell to its record, which it makes where there is none. It is at
// rest at a time.
func (s *shard) upsert(pl place, h uint64, key []byte, expiry Instant) {
	if pl.missing() {
		s.insert(h, key, expiry)
		return
	}
	s.store(pl, expiry)
}

// counted is lookup for ops that count permits, which holders are not, and for
// those that name an algorithm, on no other's key. It answers for the key if
// there is none to work on.
func (s *shard) lookupCountable(now Instant, op *Op, h uint64, d *Decision) (pl place, used int64, ok bool) {
	pl, used = s.lookup(now, op.Key, h)
	return pl, used, s.countable(now, op, pl, used, d)
}

// countable says whether the key that was found is one to count permits of, and
// answers for it if not.
func (s *shard) countable(now Instant, op *Op, pl place, used int64, d *Decision) bool {
	switch alg := s.cell.params.Alg; {
	case pl.missing():
		d.Status = Missing
	case alg == Lease || op.Params.Limit > 0 && op.Params.Alg != alg:
		s.cell.fillWrongType(now, used, d)
	}
	return d.Status == OK
}

// refund gives permits back; a key that is full again is forgotten.
func (s *shard) refund(now Instant, op *Op, h uint64, d *Decision) {
	pl, _, ok := s.lookupCountable(now, op, h, d)
	if !ok {
		return
	}
	c := &s.cell
	c.limiter().refund(c, now, op.N)
	used := c.limiter().used(c, now)
	c.previewOne(now, used, d)
	s.store(pl, now.after(d.Reset))
	d.Changed = true
	d.Allowed = 1
	if used == 0 {
		s.remove(pl)
	}
}

// charge takes permits up to one limit of debt. Its wait is until there is no
// debt any more, or where it is refused, until it would not be.
func (s *shard) charge(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, ok := s.lookupCountable(now, op, h, d)
	if !ok {
		return
	}
	c, limit := &s.cell, s.cell.params.Limit
	switch {
	case used+op.N > 2*limit:
		d.Wait = c.waitFor(now, op.N, 2*limit)
	default:
		if pl, ok = s.ensureMemory(now, op.Key, h, pl, op.N); !ok {
			d.Status = NoMemory
			return
		}
		c.limiter().take(c, now, op.N)
		used = c.limiter().used(c, now)
		s.store(pl, now.after(c.limiter().until(c, now, 0)))
		d.Changed, d.Allowed = true, 1
		d.Wait = c.limiter().until(c, now, limit)
	}
	c.fill(now, used, d)
}

// forget drops a live key and gives back the memory that its page does not need.
func (s *shard) forget(now Instant, op *Op, h uint64, d *Decision) {
	pl, _ := s.lookup(now, op.Key, h)
	if !pl.missing() {
		s.remove(pl)
		s.shrink(s.slab.open(pl.page))
		d.Allowed, d.Changed = 1, true
	}
}
