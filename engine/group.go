package engine

// takeGroup takes the limits from..to-1 all or none. Their shards have been
// entered.
//
// It first puts each key under its parameters and sees what it has; only if all
// pass does it take, and then nothing can refuse any more. A key that stands in
// the group more than once has to have enough for all of them.
func (e *Engine) takeGroup(now Instant, b *Batch, from, to int) {
	for i := from; i < to; i++ {
		if !e.ofOneKind(now, b, from, i) {
			e.refuseGroup(b, from, to, WrongType)
			return
		}
	}
	pass := true
	for i := from; i < to; i++ {
		s, op, d := &e.shards[b.scratch.shards[i]], &b.Ops[i], &b.Decisions[i]
		*d = Decision{}
		s.probe(now, op, b.scratch.hashes[i], b.earlier(from, i), d)
		pass = pass && d.Allowed == 1
	}
	if pass && !e.readyGroup(now, b, from, to) {
		e.refuseGroup(b, from, to, NoMemory)
		return
	}
	for i := from; i < to; i++ {
		s, op, d := &e.shards[b.scratch.shards[i]], &b.Ops[i], &b.Decisions[i]
		if pass {
			s.takeProbed(now, op, b.scratch.hashes[i], d)
		}
		s.answer(op, op.N, d)
	}
}

// ofOneKind says whether the key of op i belongs to the op's algorithm: where it
// is live, and where the ops from..i-1 name it.
func (e *Engine) ofOneKind(now Instant, b *Batch, from, i int) bool {
	op, s := &b.Ops[i], &e.shards[b.scratch.shards[i]]
	if pl, _ := s.lookup(now, op.Key, b.scratch.hashes[i]); !pl.missing() {
		return s.cell.params.Alg == op.Params.Alg
	}
	for j := from; j < i; j++ {
		if b.sameKey(i, j) {
			return b.Ops[j].Params.Alg == op.Params.Alg
		}
	}
	return true
}

// earlier is how many permits the ops from..i-1 ask of the key of op i.
func (b *Batch) earlier(from, i int) (n int64) {
	for j := from; j < i; j++ {
		if b.sameKey(i, j) {
			n += b.Ops[j].N
		}
	}
	return n
}

func (b *Batch) sameKey(i, j int) bool {
	return b.scratch.hashes[i] == b.scratch.hashes[j] && b.scratch.shards[i] == b.scratch.shards[j] &&
		string(b.Ops[i].Key) == string(b.Ops[j].Key)
}

func (e *Engine) refuseGroup(b *Batch, from, to int, status Status) {
	for i := from; i < to; i++ {
		b.Decisions[i] = Decision{Status: status}
	}
}

// probe answers whether op alone would pass after earlier permits of the same
// key, and puts the key under its parameters.
func (s *shard) probe(now Instant, op *Op, h uint64, earlier int64, d *Decision) {
	pl, used, changed, _ := s.open(now, op, h)
	c, limit := &s.cell, op.Params.Limit
	if op.N == 0 || used+earlier+op.N <= limit {
		d.Allowed, d.Wait = 1, c.hold(now)
	} else {
		d.Wait = c.refusal(now, earlier+op.N, limit)
	}
	c.view(now, used, d)
	if changed && op.N > 0 {
		s.store(pl)
	}
}

// readyGroup says whether there is memory for whatever the group may add, by an
// estimate that is never too low.
func (e *Engine) readyGroup(now Instant, b *Batch, from, to int) bool {
	if e.memory.max == 0 {
		return true
	}
	for i := from; i < to; i++ {
		op, s := &b.Ops[i], &e.shards[b.scratch.shards[i]]
		if op.N == 0 {
			continue
		}
		h := b.scratch.hashes[i]
		pl, _, _, _ := s.open(now, op, h)
		grow := 0
		if pl.missing() {
			grow = pageSizes[splitSize] + pageStructBytes
		}
		if op.Params.Alg == Log {
			grow += chunkPageBytes
		}
		grow *= to - from
		if grow > 0 && !s.allows(grow) && !s.makeRoom(h, op.Key, 0, grow, now) {
			return false
		}
	}
	return true
}

// takeProbed takes what probe found to pass.
func (s *shard) takeProbed(now Instant, op *Op, h uint64, d *Decision) {
	pl, used, _, _ := s.open(now, op, h)
	c := &s.cell
	*d = Decision{Allowed: 1, Wait: c.hold(now)}
	if op.N == 0 {
		c.view(now, used, d)
		return
	}
	c.alg().rule.take(c, now, op.N)
	c.view(now, used+op.N, d)
	s.keep(pl, h, op.Key)
}
