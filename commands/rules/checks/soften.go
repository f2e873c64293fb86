package checks

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/engine"
)

// soften turns limits of the request into shadow limits without penalty boxes: all limits if the
// server is in shadow mode, and otherwise the limits that get tokens back.
func soften(r *rules.Result, s *live.State, q *Request) {
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

// checkShared returns an error if descriptors share a counter, and some of them give tokens
// back while some take tokens. The counter is applied once, for the first of these
// descriptors.
func checkShared(r *rules.Result, q *Request) error {
	for _, s := range r.Shared {
		if first := r.Limits[s.Limit].Descriptor; q.givesBack(first) != q.givesBack(s.Descriptor) {
			return resp.NewError("ERR", "descriptors with the same counter must all give hits back or none, "+
				r.Limits[s.Limit].Name()+" has both")
		}
	}
	return nil
}

// AppendReturns appends the ops that give tokens back. ops and ds are the ops that Append appended
// for q and the decisions on them. It appends nothing if q was denied or gives nothing back.
func (c *Check) AppendReturns(b *engine.Batch, q *Request, ops []engine.Op, ds []engine.Decision) {
	if q.Negative == nil || c.verdict != rules.Limited || !engine.Passed(ops, ds) {
		return
	}
	for m := range c.returns(q) {
		b.Ops = append(b.Ops, refund(b, m, q.tokens(m.Descriptor)))
	}
}

// Returned replaces decisions in ds, on the ops of Append, with the decisions on the ops of
// AppendReturns.
func (c *Check) Returned(q *Request, ds, returned []engine.Decision) {
	i := 0
	for _, op := range c.returns(q) {
		d := &ds[op]
		if *d = returned[i]; d.Status == engine.Missing { // the key is full
			*d = engine.Decision{}
		}
		d.Wait = engine.Span{}
		i++
	}
}

// returns yields the limits that get tokens back, and the index of each limit's op. A limit with hits: 1
// counts requests, and gets none back.
func (c *Check) returns(q *Request) func(yield func(m *rules.Met, op uint8) bool) {
	return func(yield func(*rules.Met, uint8) bool) {
		met := c.met()
		for i := range met {
			m := &c.memory.result.Limits[i]
			if q.givesBack(m.Descriptor) && !m.Limit.None && !m.TakesOne() && !yield(m, met[i].op) {
				return
			}
		}
	}
}

// refund returns the op, for batch b, that gives n tokens of a limit back.
func refund(b *engine.Batch, m *rules.Met, n int64) engine.Op {
	return engine.Op{Kind: engine.Refund, Mode: adjusting(b), Params: m.Limit.Params, N: n, Key: m.Key}
}
