package checks

import (
	"slices"
	"sync/atomic"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
)

// stripes gives each Memory a stripe of the counters of limits, so that threads that count at
// once mostly write to different lines.
var stripes atomic.Uint32

// count adds the outcome of a request to the counters of its limits. Peeks and
// settlements are not counted.
func (c *Check) count() {
	if c.peek || c.settles || c.repeats {
		return
	}
	stripe := c.takeStripe()
	for range c.memory.answer.Closed {
		c.state.CountPenalty(stripe)
	}
	var labels [][]byte
	if x := c.extras(); x != nil {
		labels = x.labels
	}
	for i := range c.memory.answer.Met {
		m := &c.memory.answer.Met[i]
		if m.index < 0 || c.hitsOf(m) == 0 {
			continue
		}
		if o, counts := c.memory.answer.outcome(i, m); counts {
			var label []byte
			if i < len(labels) {
				label = labels[i]
			}
			c.memory.tally.Count(c.state, stripe, int(m.index), label, o)
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
	x := c.extras()
	if !c.peek && !c.settles && (c.verdict == rules.Unmatched || c.verdict == rules.None && !x.matched) {
		c.state.CountUnmatched(c.takeStripe(), x.domain)
	}
}

// outcome returns the outcome of a request at limit i. A limit that passed has no outcome if the
// request was denied. If the request is blocked, only limits with a closed box or a blocked key have
// an outcome.
func (a *Answer) outcome(i int, m *Met) (o live.Outcome, counts bool) {
	switch {
	case a.Reason == Blocked:
		return live.Blocked, slices.ContainsFunc(a.Boxes, func(b Box) bool { return b.Holds(i, m) })
	case !a.Rows[i].Allowed && m.Mode == rules.Shadow:
		return live.ShadowLimited, true
	case !a.Rows[i].Allowed:
		return live.Limited, true
	case i == a.Binding && a.Reason == Near:
		return live.Near, true
	case i == a.Binding && a.Reason == Grace:
		return live.Grace, true
	}
	return live.Allowed, a.Allowed
}

// Looks reports whether the last request of c asks for no tokens: it peeks, it settles, or it has 0
// hits for each limit.
func (c *Check) Looks() bool {
	if c.peek || c.settles {
		return true
	}
	if c.verdict != rules.Limited {
		return false
	}
	met := c.met()
	for i := range met {
		if c.hitsOf(&met[i]) > 0 {
			return false
		}
	}
	return true
}

// IsShadowDenied reports whether the request passed only because a limit, or the server, is in
// shadow mode.
func (a *Answer) IsShadowDenied() bool {
	if !a.Allowed {
		return false
	}
	for i := range a.Rows {
		if !a.Rows[i].Allowed && a.Met[i].Mode == rules.Shadow {
			return true
		}
	}
	return a.Reason == Denied || a.Reason == Unmatched
}
