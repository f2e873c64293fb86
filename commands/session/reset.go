package session

import (
	"context"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/live"
	"limitsrv/engine"
)

// ResetBatch returns the batch of RL.RULES RESET for the attributes of a request.
func ResetBatch(st *live.State, now engine.Instant, q *rules.Request) (*engine.Batch, error) {
	if st.Err != nil {
		return nil, st.Err
	}
	var r rules.Result
	if err := st.Set.Counters(q, st.Overrides, now, &r); err != nil {
		return nil, resp.Expose(err)
	}
	b := new(engine.Batch)
	for i := range r.Limits {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: r.Limits[i].Key})
	}
	for i := range r.Guards {
		b.Ops = append(b.Ops, engine.Op{Kind: engine.Forget, Key: r.Guards[i].Key})
	}
	if len(b.Ops) == 0 {
		return nil, resp.Expose(st.Set.NoCounter(q))
	}
	return b, nil
}

// EndReset logs the reset of a batch of ResetBatch, and returns the number of its counters and boxes
// that had a record.
func (s *Session) EndReset(q *rules.Request, b *engine.Batch) (n int64) {
	for i := range b.Decisions {
		n += b.Decisions[i].Allowed
	}
	s.logReset(q, n)
	return n
}

// ResetRules resets counters and penalty boxes, as RL.RULES RESET does, for a listener of another
// protocol. It returns their number. Its errors are the errors of Decide. It uses the latest rules,
// and not c.Args.
func (h *Handler) ResetRules(ctx context.Context, c Call, q *rules.Request) (n int64, err error) {
	s := h.NewSessionAs(Client{Addr: c.From, Since: time.Now(), Close: func() {}, Wake: func() {}}, c.Account)
	defer s.Close()
	spec, err := s.permitted([][]byte{[]byte("RL.RULES"), []byte("RESET"), q.Domain, nil, nil})
	if err == nil && h.IsLoading() {
		err = s.mayRunLoading(spec)
	}
	if err != nil {
		return 0, err
	}
	st, err := h.latestRules(ctx, false)
	if err != nil {
		return 0, resp.Expose(err)
	}
	b, err := ResetBatch(st, h.Now(), q)
	if err == nil {
		err = h.apply(ctx, b)
	}
	if err != nil {
		return 0, resp.Expose(err)
	}
	return s.EndReset(q, b), nil
}
