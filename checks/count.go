package checks

import (
	"slices"
	"sync/atomic"

	"limitsrv/rules"
	"limitsrv/ruleset"
)

// stripes gives each Memory a stripe of the counters of limits, so that threads that count at
// once mostly write to different lines.
var stripes atomic.Uint32

// count adds the outcome of a request to the counters of its limits. Peeks and
// settlements are not counted.
func (c *Check) count() {
	if c.request.Peek || c.request.settles() {
		return
	}
	stripe := c.takeStripe()
	for range c.memory.answer.Closed {
		c.state.CountPenalty(stripe)
	}
	for i := range c.memory.answer.Met {
		m := &c.memory.answer.Met[i]
		if m.Index < 0 || c.request.hits(m.Descriptor) == 0 {
			continue
		}
		if o, counts := c.outcome(i, m); counts {
			c.memory.tally.Count(c.state, stripe, m.Index, m.Label, o)
		}
	}
}

// takeStripe returns the stripe of the check.
func (c *Check) takeStripe() int {
	if c.memory.stripe == 0 {
		c.memory.stripe = int(stripes.Add(1))
	}
	return c.memory.stripe
}

// countUnmatched counts a request without limits if no rule matched it. Peeks and settlements
// are not counted, and neither are requests that lists and overrides decide.
func (c *Check) countUnmatched() {
	r := &c.result
	if !c.request.Peek && !c.request.settles() && (r.Verdict == rules.Unmatched || r.Verdict == rules.None && !r.Matched) {
		c.state.CountUnmatched(c.takeStripe(), r.Domain)
	}
}

// outcome returns the outcome of a request at limit i. A limit that passed has none if the request
// was denied, nor has one of an open box if the request is blocked.
func (c *Check) outcome(i int, m *rules.Met) (o ruleset.Outcome, counts bool) {
	a := &c.memory.answer
	switch {
	case a.Reason == Blocked:
		return ruleset.Blocked, slices.ContainsFunc(a.Boxes, func(b Box) bool { return b.Guard == m.Guard })
	case !a.Rows[i].Allowed && m.Mode == rules.Shadow:
		return ruleset.ShadowLimited, true
	case !a.Rows[i].Allowed:
		return ruleset.Limited, true
	case i == a.Binding && a.Reason == Near:
		return ruleset.Near, true
	case i == a.Binding && a.Reason == Grace:
		return ruleset.Grace, true
	}
	return ruleset.Allowed, a.Allowed
}
