package engine

// Passed reports whether a group passed. ops are all its ops, and ds the decisions on
// them, with the status OK: other statuses are the same for all members, except that a
// Shadow member of a group that passes is answered NoMemory by itself in a batch that is
// Full. Cost: linear in the ops.
func Passed(ops []Op, ds []Decision) bool {
	anyOf, one := false, false
	for i := range ops {
		switch passes := ds[i].Allowed == 1; {
		case ops[i].Mode&AnyOf != 0:
			anyOf, one = true, one || passes
		case ops[i].Mode&Shadow == 0 && !passes:
			return false
		}
	}
	return one || !anyOf
}

// Invariant: a group takes from all its keys or from none. Probes change only cells, and memory
// is ensured before the first take. After that no member can fail.

// takeGroup decides the group of the ops from..to-1, see Op.Group. Requires: their shards
// are locked, so that no call changes documents.
func (e *Engine) takeGroup(now Instant, b *Batch, from, to int) {
	first := &b.Ops[from]
	if first.Kind != Needs {
		e.takeMembers(now, b, from, to)
		return
	}
	if !e.inForce(first) {
		e.failGroup(b, from, to, Stale)
		return
	}
	status := e.takeMembers(now, b, from+1, to)
	b.answerNeeds(from, status)
}

// inForce reports whether the documents that a Needs names are in force.
func (e *Engine) inForce(needs *Op) bool {
	space, version := needs.needed()
	return e.documents.of(space).version == version
}

// answerNeeds answers op i, a Needs, as its group was answered: with a status.
func (b *Batch) answerNeeds(i int, status Status) {
	d := &b.Decisions[i]
	*d = Decision{Status: status, Changed: b.Decisions[i+1].Changed}
	if status == OK {
		d.Allowed = 1
	}
}

// takeMembers decides the members from..to-1 of a group. It returns
// the status of the group.
//
// It first finds the key of each op, once, and probes the op, after earlier ops of the group
// on the same key. It takes only if the group passes; from then on nothing can be denied. If it
// does not pass, the keys still get their new parameters, in the order of the ops, unless
// memory was insufficient.
func (e *Engine) takeMembers(now Instant, b *Batch, from, to int) Status {
	if b.Ops[from].settles() {
		return e.settleMembers(now, b, from, to)
	}
	b.beginGroup(from, to)
	switch open, right := e.passGuards(now, b, from, to); {
	case !right:
		return WrongType
	case !open:
		return OK
	}
	looking := allReadOnly(b.Ops[from:to])
	switch pass, right := e.probeGroup(now, b, from, to, looking); {
	case !right:
		return WrongType
	case looking:
		return OK
	default:
		return e.finishGroup(now, b, from, to, pass)
	}
}

// finishGroup applies the members of a group that was probed, and returns its status.
func (e *Engine) finishGroup(now Instant, b *Batch, from, to int, pass bool) Status {
	ready := false
	if pass {
		ready = e.ensureGroupMemory(now, b, from, to)
	} else {
		ready = e.ensureStrikes(now, b, from, to)
	}
	switch {
	case !ready && pass:
		e.failGroup(b, from, to, NoMemory)
		return NoMemory
	case !ready:
		return OK
	}
	changed := false
	for i := from; i < to; i++ {
		changed = e.finishMember(now, b, from, to, i, pass) || changed
	}
	for i := from; i < to; i++ {
		b.Decisions[i].Changed = changed
	}
	return OK
}

// probeGroup finds and probes all members except guards, or previews the members of a group
// that only looks, and reports whether the group passes. If a key has the wrong algorithm,
// it answers the group, and right is false.
func (e *Engine) probeGroup(now Instant, b *Batch, from, to int, looking bool) (pass, right bool) {
	for i := from; i < to; i++ {
		op, s, d := &b.Ops[i], &e.shards[b.scratch.shards[i]], &b.Decisions[i]
		if op.Mode == Guard {
			continue
		}
		*d = Decision{}
		m := s.findMember(now, b, i, looking)
		switch {
		case !s.checkAlg(now, b, from, i, m):
			e.failMember(b, from, to, i)
			return false, false
		case looking:
			s.previewTake(now, op, m.place, m.used, d)
		case op.Kind == Acquire:
			s.probePlace(now, b, from, i, d)
		default:
			s.probe(now, b, from, i, d)
		}
	}
	if looking || Passed(b.Ops[from:to], b.Decisions[from:to]) {
		return true, true
	}
	for i := from; i < to; i++ {
		if m := b.member(i); m.brief {
			e.shards[b.scratch.shards[i]].fillMember(now, &b.Ops[i], m, &b.Decisions[i])
		}
	}
	return false, true
}

// finishMember applies op i of the group of ops from..to-1, which was probed, counts the decision, and reports
// whether a key was changed.
func (e *Engine) finishMember(now Instant, b *Batch, from, to, i int, pass bool) (changed bool) {
	s, op, d, h, m := &e.shards[b.scratch.shards[i]], &b.Ops[i], &b.Decisions[i], b.scratch.hashes[i], b.member(i)
	switch {
	case op.Mode == Guard:
		if !pass && b.strikes(i, to) {
			changed = s.strike(now, op, h, d)
		}
	case !pass:
		changed = s.applyDeniedParams(now, op, h, m)
	case op.N > 0 && op.Mode != 0 && (d.Allowed == 0 || b.Full):
		return s.takeAlone(now, op, h, d)
	default:
		s.takeProbed(now, op, h, m, d)
		changed = op.N > 0
	}
	if op.N > 0 {
		s.countDecision(now, op, h, d)
	}
	return changed
}

// takeAlone decides a member with a mode, of a group that passes, as if it were an op
// without a group and without the mode. Requires: there is memory, if it passes.
func (s *shard) takeAlone(now Instant, op *Op, h uint64, d *Decision) (changed bool) {
	alone := *op
	alone.Mode, alone.Group = 0, 0
	*d = Decision{}
	if op.Kind == Acquire {
		s.acquire(now, &alone, h, d)
	} else {
		s.take(now, &alone, h, d)
	}
	if op.Mode == Shadow && d.Status == OK && d.Allowed == 0 {
		s.stats.ShadowDenied++
	}
	return d.Changed
}

// takesIn reports whether op j of a group takes permits if the group passes. Requires: it
// was probed.
func (b *Batch) takesIn(j int) bool {
	mode := b.Ops[j].Mode
	return b.Ops[j].N > 0 && mode != Guard && (mode == 0 || b.Decisions[j].Allowed == 1)
}

// checkAlg reports whether the key of op i, which findMember has found, has the op's algorithm,
// in the table and in the ops from..i-1. If not, it answers the op.
func (s *shard) checkAlg(now Instant, b *Batch, from, i int, m *member) bool {
	op, d := &b.Ops[i], &b.Decisions[i]
	if !m.missing() {
		if s.cell.params.Alg != op.Params.Alg {
			s.cell.fillWrongType(now, m.used, d)
		}
		return d.Status == OK
	}
	for j := from; m.again && j < i; j++ {
		if b.sameKey(i, j) && b.Ops[j].Params.Alg != op.Params.Alg {
			d.Status, d.Params = WrongType, b.Ops[j].Params
			return false
		}
	}
	return true
}

func (b *Batch) sameKey(i, j int) bool {
	return b.scratch.hashes[i] == b.scratch.hashes[j] && b.scratch.shards[i] == b.scratch.shards[j] &&
		string(b.Ops[i].Key) == string(b.Ops[j].Key)
}

// failMember answers a group with member i on a key of another algorithm, as i was answered.
func (e *Engine) failMember(b *Batch, from, to, i int) {
	held := b.Decisions[i]
	e.failGroup(b, from, to, WrongType)
	b.Decisions[i] = held
}

func (e *Engine) failGroup(b *Batch, from, to int, status Status) {
	for i := from; i < to; i++ {
		b.Decisions[i] = Decision{Status: status}
	}
}

// probe decides whether op i of a group would pass after the ops from..i-1 on the same key,
// which findMember has found, and answers with the key's state if these ops take nothing. If
// the op passes, and no other op or parameters matter, the answer is brief. It changes only
// the cell.
func (s *shard) probe(now Instant, b *Batch, from, i int, d *Decision) {
	op, c, m := &b.Ops[i], &s.cell, b.member(i)
	if (m.same || m.missing()) && !m.again && (op.N == 0 || m.used+op.N <= op.Params.Limit) {
		d.Allowed, m.brief = 1, true
		return
	}
	changes := s.chunks.changes
	if m.missing() {
		c.params, c.past, c.state = op.Params, past{}, state{}
	}
	found := *c
	earlier := b.simulate(now, from, i, c, true)
	used, limit := c.meter().used(c, now), op.Params.Limit
	if op.N == 0 || used+earlier+op.N <= limit {
		d.Allowed = 1
	} else if d.Wait = c.waitFor(now, earlier+op.N, limit); d.Wait != Never && op.Params.Count > 0 {
		*c = found
		reset := c.meter().until(c, now, 0)
		c.past, c.state = past{}, state{}
		if earlier = b.simulate(now, from, i, c, true); c.meter().used(c, now)+earlier+op.N > limit {
			d.Wait = Never // denied even if the key is fully reset
		} else if reset.less(d.Wait) {
			d.Wait = reset
		}
	}
	*c = found
	b.simulate(now, from, i, c, false)
	if d.Allowed == 1 {
		d.Wait = c.hold(now)
	}
	c.fill(now, c.meter().used(c, now), d)
	s.chunks.changes = changes
}

// simulate puts the cell, the key of op i, under the parameters of each of the ops from..i on this key in
// turn. With take, it also takes the permits of the ops among them that take if the group passes, except op
// i. For a bucket it takes them from the cell, because permits cost time at the rate in force; for other
// algorithms it returns their number.
func (b *Batch) simulate(now Instant, from, i int, c *cell, take bool) (taken int64) {
	for j := from; j <= i; j++ {
		op := &b.Ops[j]
		if j < i && (op.N == 0 || !b.sameKey(i, j)) {
			continue
		}
		if c.params != op.Params {
			c.meter().migrate(c, now, op.Params)
		}
		if j == i || !take || !b.takesIn(j) {
			continue
		}
		if op.Params.Count > 0 {
			c.limiter().take(c, now, op.N)
		} else {
			taken += op.N
		}
	}
	return taken
}

// applyDeniedParams puts the key of a denied op under the op's parameters, and reports
// whether that changed it.
func (s *shard) applyDeniedParams(now Instant, op *Op, h uint64, m *member) bool {
	if (m.same || m.missing()) && !m.again {
		return false
	}
	pl, _, changed, _ := s.lookupWith(now, op, h)
	if !changed || op.N == 0 {
		return false
	}
	s.store(pl, now.after(s.cell.meter().until(&s.cell, now, 0)))
	return true
}

// ensureGroupMemory reports whether there is memory for all records and entries that the
// group may add, by an estimate that is never too low.
func (e *Engine) ensureGroupMemory(now Instant, b *Batch, from, to int) bool {
	if b.Full && !e.allKeysLive(b, from, to) {
		return false
	}
	if e.memory.most.Load() == 0 {
		return true
	}
	for i := from; i < to; i++ {
		if b.takesIn(i) && !e.shards[b.scratch.shards[i]].ensureMember(now, b, i, to-from) {
			return false
		}
	}
	return true
}

// ensureMember reports whether there is memory for the records and entries that member i of
// a group of n ops may add.
func (s *shard) ensureMember(now Instant, b *Batch, i, n int) bool {
	op, h, grow := &b.Ops[i], b.scratch.hashes[i], 0
	if s.isMissing(now, op, h, b.member(i)) {
		grow = pageSizes[splitSize] + pageHeadBytes
	}
	if g := op.Params.alg().growth; g != nil {
		grow += g.maxGrowth()
	}
	grow *= n
	return grow == 0 || s.withinBound(grow) || s.makeRoom(h, 0, grow, now)
}

// allKeysLive reports whether the group would create no key. A Shadow member may: it is
// denied by itself.
func (e *Engine) allKeysLive(b *Batch, from, to int) bool {
	for i := from; i < to; i++ {
		if b.takesIn(i) && b.Ops[i].Mode != Shadow && b.member(i).missing() {
			e.shards[b.scratch.shards[i]].stats.Refused++
			return false
		}
	}
	return true
}

// takeProbed applies a take that probe found to pass.
func (s *shard) takeProbed(now Instant, op *Op, h uint64, m *member, d *Decision) {
	pl, used := s.openMember(now, op, h, m)
	c := &s.cell
	if op.N == 0 {
		*d = Decision{Allowed: 1, Wait: s.lookWait(now, op, used)}
		c.fill(now, used, d)
		return
	}
	*d = Decision{Allowed: 1, Wait: c.hold(now)}
	if op.Kind == Acquire {
		c.alg().lessor.acquire(c, now, s.hashHolder(op.ID), now+Instant(op.Params.Period))
	} else {
		c.limiter().take(c, now, op.N)
	}
	c.fill(now, c.meter().used(c, now), d)
	s.upsert(pl, h, op.Key, now.after(d.Reset))
}
