package checks

import (
	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// checkReserve returns an error if a request can not be reserved.
func checkReserve(r *rules.Result, q *Request) error {
	if q.Terms.Partial && len(q.Amounts) > 0 {
		return resp.NewError("ERR", "PARTIAL needs HITS n, because named amounts can not be lowered")
	}
	for i := range r.Limits {
		if m := &r.Limits[i]; m.Limit.HasLeases() && len(q.ID) > 0 {
			return resp.NewError("ERR", m.Name()+" has leases: with RESERVE their holder is the id of the reservation, so "+
				"leave out ID")
		}
	}
	return nil
}

// Reserves returns the terms by which the request of the last Append is to be reserved; ok is false if it
// is not: it looks only, or a list, an override or the rules deny it. A request that passes without a
// limit is reserved too, so that its client can settle it as any other.
func (c *Check) Reserves(q *Request) (t reservations.Terms, ok bool) {
	if !c.reserves || c.verdict != rules.Limited && !c.verdict.Passes() && !c.state.Shadow {
		return t, false
	}
	t = q.Terms
	t.Request, t.Fixed, t.Bare = q.Hash(), 0, c.verdict != rules.Limited
	met := c.met()
	for i := range met {
		if m := &met[i]; m.takesOne || m.Limit.None || m.Limit.HasLeases() {
			t.Fixed |= 1 << placeOf(met, m.op)
		}
	}
	return t, true
}

// placeOf returns the number of limits with an op before an op.
func placeOf(met []Met, op uint8) (n int) {
	for i := range met {
		if met[i].op < op {
			n++
		}
	}
	return n
}

// granted returns the number of tokens that were granted of each limit without hits: 1.
func (c *Check) granted(ds []engine.Decision) (n int64) {
	for i := range c.memory.answer.Met {
		n = max(n, ds[c.memory.answer.Met[i].op].Allowed)
	}
	return n
}
