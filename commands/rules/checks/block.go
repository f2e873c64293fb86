package checks

import (
	"limitsrv/commands/limiters"
	"limitsrv/engine"
)

// A key of a rule that RL.BLOCK blocks holds a penalty box in the place of its counter. So a decision
// about the counter has the status WrongType and the parameters of a block.

// blockedKey returns the index in Met of the first limit with a blocked key, or -1.
func (c *Check) blockedKey(ds []engine.Decision) int {
	for i := range c.memory.answer.Met {
		if isBlocked(&ds[c.memory.answer.Met[i].op]) {
			return i
		}
	}
	return -1
}

func isBlocked(d *engine.Decision) bool {
	return d.Status == engine.WrongType && limiters.IsBlock(&d.Params)
}

// denyBlocked answers a request whose limit i has a blocked key. A shadow limit with a blocked key
// denies too, because an administrator has ordered the block.
func (a *Answer) denyBlocked(i int, d *engine.Decision) {
	m, left := &a.Met[i], d.Reset.CeilMillis()
	a.Row = Row{WaitMillis: left, ResetMillis: left, Name: m.Named.Name}
	a.Descriptor, a.Reason = int(m.Descriptor), Blocked
	a.Boxes = append(a.Boxes, Box{Row: a.Row, Limit: i + 1, Descriptor: a.Descriptor})
}

// passBlocked makes the decisions on blocked keys equal to decisions on keys without a record. It
// is for requests that no block may deny: they settle, or the server is in shadow mode. It returns the
// error of any other failed decision.
func (c *Check) passBlocked(ops []engine.Op, ds []engine.Decision) error {
	for i := range ds {
		if isBlocked(&ds[i]) {
			ds[i] = engine.Decision{}
		}
	}
	return c.failed(ops, ds)
}
