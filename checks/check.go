package checks

import (
	"iter"
	"slices"

	"limitsrv/commands/resp"
	"limitsrv/engine"
	"limitsrv/limiters"
	"limitsrv/rules"
	"limitsrv/ruleset"
)

// A Check is the decision about one request on its way: from its limits to their ops, and
// from the decisions on these to an answer. It is reused: the zero value is ready.
// Concurrency: one goroutine at a time.
type Check struct {
	result rules.Result
	// ops has for each limit the index of its op, if there are penalty boxes.
	ops []int
	// state and request are those of the last Append, until Release.
	state   *ruleset.State
	request *Request
	memory  *Memory // of the last Share, or its own; nil: none yet
}

// A Memory is working memory of Checks, with their last answer. The zero value is ready.
type Memory struct {
	work   rules.Work
	answer Answer
	stripe int // of the counters of limits; 0: none yet
	tally  ruleset.Tally
}

// Release frees the keys of all requests of the Checks that share m, and calls Count.
func (m *Memory) Release() {
	m.work.Release()
	m.Count()
}

// Count adds the answers since its last call to the counters of limits. It must be called before
// others can see these answers, because they may read the counters then.
func (m *Memory) Count() { m.tally.Flush(m.stripe) }

// Share lets the next requests use memory that other Checks of the same goroutine use too. An
// answer is then valid until the next one of any of these.
func (c *Check) Share(m *Memory) {
	c.memory = m
	c.result.Share(&m.work)
}

// Append appends the ops of a request, by rules at now, the instant that overrides expire
// by. An error is a *resp.Error: a mistake of the request, or the State's Err. Then nothing is
// appended.
func (c *Check) Append(b *engine.Batch, s *ruleset.State, now engine.Instant, q *Request) error {
	r := &c.result
	if c.memory == nil {
		c.Share(new(Memory))
	}
	if s.Err != nil {
		return s.Err
	}
	if err := s.Set.Match(&q.Request, s.Overrides, now, r); err != nil {
		return resp.NewError("ERR", err.Error())
	}
	c.state, c.request = s, q
	if s.Shadow {
		c.shadow()
	}
	if r.Verdict == rules.Limited && q.settles() {
		appendSettling(b, r.Limits, q)
		return nil
	}
	if len(q.ID) == 0 {
		for i := range r.Limits {
			if m := &r.Limits[i]; m.Limit.HasLeases() {
				return resp.NewError("ERR", m.Name()+" counts leases: ID id is required")
			}
		}
	}
	first := len(b.Ops)
	needs := next(b)
	*needs = engine.Op{}
	needs.Kind, needs.DB, needs.N = engine.Needs, uint8(engine.Rules), int64(s.Version)
	switch {
	case r.Verdict != rules.Limited:
		b.Ops = append(b.Ops, look)
	case len(r.Guards) == 0:
		for i := range r.Limits {
			appendLimit(b, &r.Limits[i], q)
		}
	default:
		c.appendGuarded(b, q, first)
	}
	b.Ops[first].Group = uint8(len(b.Ops) - first)
	return nil
}

// next appends an op to the batch, which the caller must set.
func next(b *engine.Batch) *engine.Op {
	n := len(b.Ops)
	if n == cap(b.Ops) {
		b.Ops = append(b.Ops, engine.Op{})
	} else {
		b.Ops = b.Ops[:n+1]
	}
	return &b.Ops[n]
}

// shadow makes all limits shadow limits, which have no penalty boxes.
func (c *Check) shadow() {
	for i := range c.result.Limits {
		m := &c.result.Limits[i]
		m.Mode, m.Guard = rules.Shadow, -1
	}
	c.result.Guards = c.result.Guards[:0]
}

// look is a member for a group without limits, which only needs the rules.
var look = engine.Op{Kind: engine.Take, Key: []byte(rules.KeyPrefix), Params: engine.Params{Alg: engine.Fixed, Limit: 1, Period: engine.MinPeriod}}

// appendLimit appends the op of a limit.
func appendLimit(b *engine.Batch, m *rules.Met, q *Request) {
	n := q.hits(m.Descriptor)
	if q.Peek {
		n = 0
	}
	op := next(b)
	m.SetOp(op, n, q.ID)
	op.Mode = modes[m.Mode]
}

// appendGuarded appends the limits of a request to the group that begins at first: those
// without a penalty box, then each box with those that it guards.
func (c *Check) appendGuarded(b *engine.Batch, q *Request, first int) {
	r := &c.result
	c.ops = slices.Grow(c.ops[:0], len(r.Limits))[:len(r.Limits)]
	for guard := -1; guard < len(r.Guards); guard++ {
		at := len(b.Ops)
		if guard >= 0 {
			b.Ops = append(b.Ops, engine.Op{Kind: engine.Take, Mode: engine.Guard})
		}
		strike := int64(0)
		for i := range r.Limits {
			m := &r.Limits[i]
			if m.Guard != guard {
				continue
			}
			c.ops[i] = len(b.Ops) - first
			if appendLimit(b, m, q); !q.Peek && q.hits(m.Descriptor) > 0 {
				strike = 1
			}
		}
		if guard >= 0 {
			op := &b.Ops[at]
			op.Key, op.Params, op.N = r.Guards[guard].Key, r.Guards[guard].Rule.Penalty.Params(), strike
		}
	}
}

// modes are the modes of the ops of limits.
var modes = [...]engine.Mode{rules.Enforced: 0, rules.Shadow: engine.Shadow, rules.Quota: engine.AnyOf}

// appendSettling appends an op for each limit of a request that settles. Limits of 0 count
// nothing.
func appendSettling(b *engine.Batch, limits []rules.Met, q *Request) {
	for i := range limits {
		l := limits[i].Limit
		op := engine.Op{Kind: engine.Charge, Params: l.Params, N: q.Settle, Key: limits[i].Key}
		switch {
		case l.HasLeases() && len(q.ID) == 0:
			op = engine.Op{Kind: engine.Peek, Key: limits[i].Key}
		case l.HasLeases():
			op = engine.Op{Kind: engine.Release, Key: limits[i].Key, ID: q.ID}
		case l.None:
			limits[i].SetOp(&op, 0, nil)
		case q.Settle < 0:
			op.Kind, op.N = engine.Refund, -q.Settle
		}
		b.Ops = append(b.Ops, op)
	}
}

// Release frees the keys of the last request. It must be called after its answer was used,
// and before the next request.
func (c *Check) Release() {
	if c.memory != nil {
		c.memory.Release()
	}
	c.Forget()
}

// Forget is Release for a Check that shares memory, which is released for all at once.
func (c *Check) Forget() { c.state, c.request = nil, nil }

// Answer makes the answer from the decisions on the ops that Append appended. An error is
// an *resp.Error: nothing was counted. The answer is valid until the next use of c.
// Requires: no decision has the status Down or Stale.
func (c *Check) Answer(ops []engine.Op, ds []engine.Decision) (*Answer, error) {
	a, r := &c.memory.answer, &c.result
	a.Binding, a.Descriptor = -1, -1
	a.Rows, a.Boxes, a.Closed = a.Rows[:0], a.Boxes[:0], a.Closed[:0]
	a.Met, a.Shared, a.Descriptors = r.Limits, r.Shared, r.Descriptors
	if r.Verdict != rules.Limited {
		a.settle(r.Verdict, c.state.Shadow)
		c.countUnmatched()
		return a, nil
	}
	if err := c.failed(ops, ds); err != nil {
		return nil, err
	}
	if len(r.Guards) > 0 && c.blocked(ops, ds) {
		c.count()
		return a, nil
	}
	a.Rows = slices.Grow(a.Rows, len(a.Met))[:len(a.Met)]
	for i := range a.Rows {
		c.setRow(&a.Rows[i], i, &ds[c.op(i)])
	}
	c.bind(ds)
	if len(r.Guards) > 0 {
		c.findClosed(ops, ds)
	}
	c.count()
	return a, nil
}

// op returns the index of the op of limit i.
func (c *Check) op(i int) int {
	switch {
	case c.request.settles():
		return i
	case len(c.result.Guards) == 0:
		return i + 1
	}
	return c.ops[i]
}

// blocked answers a request that a closed penalty box denies, and reports whether one does:
// of several, the one that opens last.
func (c *Check) blocked(ops []engine.Op, ds []engine.Decision) bool {
	a := &c.memory.answer
	for guard, i := range c.guards(ops) {
		if ds[i].Allowed == 1 {
			continue
		}
		first := slices.IndexFunc(a.Met, func(m rules.Met) bool { return m.Guard == guard })
		box := Box{
			Row:   Row{WaitMillis: ds[i].Wait.CeilMillis(), ResetMillis: ds[i].Reset.CeilMillis(), Name: c.result.Guards[guard].Rule.Name},
			Guard: guard, Descriptor: a.Met[first].Descriptor,
		}
		if a.Boxes = append(a.Boxes, box); len(a.Boxes) == 1 || box.WaitMillis > a.WaitMillis {
			a.Row, a.Descriptor, a.Reason = box.Row, box.Descriptor, Blocked
		}
	}
	return len(a.Boxes) > 0
}

// findClosed sets the penalty boxes that the request closed.
func (c *Check) findClosed(ops []engine.Op, ds []engine.Decision) {
	for guard, i := range c.guards(ops) {
		if d := &ds[i]; d.Wait != (engine.Span{}) {
			c.memory.answer.Closed = append(c.memory.answer.Closed, Closing{Guard: &c.result.Guards[guard], Level: d.BoxLevel(), Millis: d.Wait.CeilMillis()})
		}
	}
}

// guards yields the index of each guard of the request, and the index of its op.
func (c *Check) guards(ops []engine.Op) iter.Seq2[int, int] {
	return func(yield func(guard, op int) bool) {
		guard := 0
		for i := 0; guard < len(c.result.Guards) && i < len(ops); i++ {
			if ops[i].Mode != engine.Guard {
				continue
			}
			if !yield(guard, i) {
				return
			}
			guard++
		}
	}
}

// failed returns the error for a client if a decision was not made. A shadow limit without
// memory for its key, and a key that has nothing to settle, are none.
func (c *Check) failed(ops []engine.Op, ds []engine.Decision) error {
	for i := range ds {
		switch status := ds[i].Status; {
		case status == engine.OK || status == engine.Missing && c.request.settles() || status == engine.NoMemory && ops[i].Mode == engine.Shadow:
			continue
		case status == engine.WrongType && ds[i].Params == engine.Params{}: // another op's key has it
			continue
		}
		return limiters.Failed(ds[i : i+1])
	}
	return nil
}

// settle answers a request that meets no limit.
func (a *Answer) settle(v rules.Verdict, shadow bool) {
	a.Reason = [...]Reason{
		rules.Denied: Denied, rules.Allowed: Allowed, rules.Unlimited: Unlimited, rules.None: None, rules.Unmatched: Unmatched,
	}[v]
	if shadow || v.Passes() {
		a.Row = unbound
	} else {
		a.Row = Row{WaitMillis: -1}
	}
}

// unbound is the answer to a request that passes without a limit.
var unbound = Row{Allowed: true, Limit: -1, Remaining: -1}

// setRow makes r the state of limit i.
func (c *Check) setRow(r *Row, i int, d *engine.Decision) {
	m := &c.result.Limits[i]
	l := m.Limit
	r.Allowed, r.Limit, r.Remaining = d.Allowed == 1, l.Quota, max(0, d.Remaining-l.Grace)
	r.WaitMillis, r.ResetMillis, r.Name = d.Wait.CeilMillis(), d.Reset.CeilMillis(), m.Name()
	switch {
	case l.None:
		r.Remaining, r.ResetMillis = 0, 0
	case d.Params == engine.Params{}: // no such key, or no memory for one
		r.Allowed, r.Remaining = true, l.Quota
	case c.request.settles() && l.HasLeases():
		r.Allowed, r.WaitMillis = true, 0
	case c.request.Peek && d.Remaining < c.request.hits(m.Descriptor):
		r.Allowed, r.WaitMillis = false, r.ResetMillis
	}
}
