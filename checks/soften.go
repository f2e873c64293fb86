package checks

import (
	"limitsrv/commands/resp"
	"limitsrv/engine"
	"limitsrv/rules"
	"limitsrv/ruleset"
)

// soften makes shadow limits, which have no penalty boxes, of all limits of the request if all
// rules are in shadow, else of the limits that get tokens back.
func soften(r *rules.Result, s *ruleset.State, q *Request) {
	for i := range r.Limits {
		if m := &r.Limits[i]; s.Shadow || q.givesBack(m.Descriptor) {
			m.Mode, m.Guard = rules.Shadow, -1
		}
	}
	kept := r.Guards[:0]
	for guard := range r.Guards {
		guards := false
		for i := range r.Limits {
			if m := &r.Limits[i]; m.Guard == guard {
				m.Guard, guards = len(kept), true
			}
		}
		if guards {
			kept = append(kept, r.Guards[guard])
		}
	}
	r.Guards = kept
	r.Forget()
}

// checkShared returns an error if descriptors share a counter of which some give tokens back and
// others take them: it is counted once, for the first of the descriptors.
func checkShared(r *rules.Result, q *Request) error {
	for _, s := range r.Shared {
		if first := r.Limits[s.Limit].Descriptor; q.givesBack(first) != q.givesBack(s.Descriptor) {
			return resp.NewError("ERR", "descriptors with the same counter must all give hits back or none, "+
				r.Limits[s.Limit].Name()+" has both")
		}
	}
	return nil
}

// AppendReturns appends the ops that give back the tokens of a request, from the decisions on
// the ops that Append appended: none if the request is denied, or gives nothing back. q must be
// the request of the Append.
func (c *Check) AppendReturns(b *engine.Batch, q *Request, ops []engine.Op, ds []engine.Decision) {
	if q.Negative == nil || c.verdict != rules.Limited || !engine.Passed(ops, ds) {
		return
	}
	for m := range c.returns(q) {
		b.Ops = append(b.Ops, refund(b, m, q.tokens(m.Descriptor)))
	}
}

// Returned puts the decisions on the ops of AppendReturns in place of those on the ops of Append.
func (c *Check) Returned(q *Request, ds, returned []engine.Decision) {
	i := 0
	for _, op := range c.returns(q) {
		d := &ds[op]
		if *d = returned[i]; d.Status == engine.Missing { // it is full
			*d = engine.Decision{}
		}
		d.Wait = engine.Span{}
		i++
	}
}

// returns yields the limits that get tokens back, with the index of their ops.
func (c *Check) returns(q *Request) func(yield func(m *rules.Met, op uint8) bool) {
	return func(yield func(*rules.Met, uint8) bool) {
		met := c.met()
		for i := range met {
			m := &c.memory.result.Limits[i]
			if q.givesBack(m.Descriptor) && !m.Limit.None && !yield(m, met[i].op) {
				return
			}
		}
	}
}

// refund returns the op of a batch that gives tokens of a limit back.
func refund(b *engine.Batch, m *rules.Met, n int64) engine.Op {
	return engine.Op{Kind: engine.Refund, Mode: adjusting(b), Params: m.Limit.Params, N: n, Key: m.Key}
}
