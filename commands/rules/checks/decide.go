package checks

import (
	"iter"
	"slices"

	"limitsrv/commands/limiters"
	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// Answer makes the answer from the decisions on the ops that Append appended. An error is
// an *resp.Error: nothing was counted. The answer is valid until the next use of c.
// Requires: no decision has the status Down or Stale.
func (c *Check) Answer(ops []engine.Op, ds []engine.Decision) (*Answer, error) {
	a := &c.memory.answer
	a.Binding, a.Descriptor = -1, -1
	a.Rows, a.Boxes, a.Closed, a.Granted = a.Rows[:0], a.Boxes[:0], a.Closed[:0], 0
	a.Met = c.met()
	var guards []rules.Guard
	if x := c.extras(); x != nil {
		a.Shared, a.Descriptors, guards = x.shared, x.descriptors, x.guards
	} else {
		a.Shared, a.Descriptors = nil, limited
	}
	if c.verdict != rules.Limited {
		a.settle(c.verdict, c.state.Shadow)
		if c.partial && a.Allowed {
			a.Granted = c.hits
		}
		c.countUnmatched()
		return a, nil
	}
	if err := c.failed(ops, ds); err != nil {
		switch i := c.blockedKey(ds); {
		case i < 0:
			return nil, err
		case !c.settles && !c.state.Shadow:
			a.denyBlocked(i, &ds[a.Met[i].op])
			c.count()
			return a, nil
		}
		if err := c.passBlocked(ops, ds); err != nil {
			return nil, err
		}
	}
	if len(guards) > 0 && a.blocked(guards, ops, ds) {
		c.count()
		return a, nil
	}
	a.Rows = slices.Grow(a.Rows, len(a.Met))[:len(a.Met)]
	for i := range a.Rows {
		c.setRow(&a.Rows[i], &a.Met[i], &ds[a.Met[i].op])
	}
	a.bind(ds)
	if c.partial && a.Allowed {
		a.Granted = c.granted(ds)
	}
	if len(guards) > 0 {
		a.findClosed(guards, ops, ds)
	}
	c.count()
	return a, nil
}

// limited are the descriptors of a request with a descriptor, which meets limits.
var limited = []rules.Verdict{rules.Limited}

// blocked answers a request that a closed penalty box denies, and reports whether a box is
// closed. Of several closed boxes, the box that opens last decides.
func (a *Answer) blocked(guards []rules.Guard, ops []engine.Op, ds []engine.Decision) bool {
	for guard, i := range eachGuard(ops) {
		if ds[i].Allowed == 1 {
			continue
		}
		first := slices.IndexFunc(a.Met, func(m Met) bool { return int(m.Guard) == guard })
		box := Box{
			Row: Row{WaitMillis: ds[i].Wait.CeilMillis(), ResetMillis: ds[i].Reset.CeilMillis(),
				Name: guards[guard].Rule.Name},
			Guard: guard, Descriptor: int(a.Met[first].Descriptor),
		}
		if a.Boxes = append(a.Boxes, box); len(a.Boxes) == 1 || box.WaitMillis > a.WaitMillis {
			a.Row, a.Descriptor, a.Reason = box.Row, box.Descriptor, Blocked
		}
	}
	return len(a.Boxes) > 0
}

// findClosed sets the penalty boxes that the request closed.
func (a *Answer) findClosed(guards []rules.Guard, ops []engine.Op, ds []engine.Decision) {
	for guard, i := range eachGuard(ops) {
		if d := &ds[i]; d.Wait != (engine.Span{}) {
			a.Closed = append(a.Closed, Closing{Guard: &guards[guard], Level: d.BoxLevel(), Millis: d.Wait.CeilMillis()})
		}
	}
}

// eachGuard yields the index of each guard of a request, and the index of its op.
func eachGuard(ops []engine.Op) iter.Seq2[int, int] {
	return func(yield func(guard, op int) bool) {
		guard := 0
		for i := range ops {
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
// memory for its key, and a key that has nothing to settle, are no errors.
func (c *Check) failed(ops []engine.Op, ds []engine.Decision) error {
	for i := range ds {
		switch status := ds[i].Status; {
		case status == engine.OK || status == engine.Missing && c.settles || status == engine.NoMemory &&
			ops[i].Mode == engine.Shadow:
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
		rules.Denied: Denied, rules.Allowed: Allowed, rules.Unlimited: Unlimited, rules.None: None,
		rules.Unmatched: Unmatched,
	}[v]
	if shadow || v.Passes() {
		a.Row = unbound
	} else {
		a.Row = Row{WaitMillis: -1}
	}
}

// unbound is the answer to a request that passes without a limit.
var unbound = Row{Allowed: true, Limit: -1, Remaining: -1}

// setRow makes r the state of a limit.
func (c *Check) setRow(r *Row, m *Met, d *engine.Decision) {
	l := m.Limit
	r.Allowed, r.Limit, r.Remaining = d.Allowed > 0, l.Quota, max(0, d.Remaining-l.Grace)
	r.WaitMillis, r.ResetMillis, r.Name = d.Wait.CeilMillis(), d.Reset.CeilMillis(), m.Named.Name
	switch {
	case l.None:
		r.Remaining, r.ResetMillis = 0, 0
		if c.settles {
			r.Allowed, r.WaitMillis = true, 0
		} else if c.peek && c.hitsOf(m) > 0 {
			r.Allowed, r.WaitMillis = false, -1
		}
	case d.Params == engine.Params{}: // no such key, or no memory for a key
		r.Allowed, r.Remaining = true, l.Quota
	case c.settles && l.HasLeases():
		r.Allowed, r.WaitMillis = true, 0
	case c.settles:
	case c.reserves && c.hitsOf(m) == 0 && l.HasLeases(): // without hits it takes no lease, so it has no wait
		r.WaitMillis = 0
	case (c.peek || c.hitsOf(m) == 0) && l.HasLeases():
		r.Allowed = d.Wait == engine.Span{}
	case (c.peek || c.hitsOf(m) == 0 && !c.reserves) && d.Remaining < max(1, c.hitsOf(m)):
		r.Allowed = false
	}
}
