package session

import (
	"context"
	"slices"
	"sync"

	"limitsrv/commands/backend"
	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// A single is a request by rules on its way, for Check.
type single struct {
	check checks.Check
	batch engine.Batch
	// returns holds the ops that give tokens back.
	returns engine.Batch
	once    reservations.Reply
	caller  *backend.Caller // waits for a batch or for the rules
}

// singles are unused singles.
var singles = sync.Pool{New: func() any { return &single{caller: backend.NewCaller()} }}

// Check decides a request by rules, as RL.CHECK does, for a listener of another protocol.
// It calls answer with the answer, which is valid during that call only.
//
// Returns: the *resp.Error that a client would get if the account has no permission, the state
// is loading or the request is wrong; otherwise the error of the batch. In a cluster the
// batch is forwarded to the leader. If ctx ends first, the error is its cause, the request may
// or may not be counted, and its bytes must not be used again. c.Args is not used.
func (h *Handler) Check(ctx context.Context, c Call, q *checks.Request, answer func(*checks.Answer)) error {
	outcome := WasError
	err := h.mayCheck(c, q)
	if err == nil {
		outcome, err = h.check(ctx, c, q, answer)
	}
	h.countOther(c.Via, outcome)
	return err
}

// Look answers a request by rules as RL.CHECK PEEK does, with the rights of RL.RULES MATCH. It counts
// nothing, and is otherwise like Check.
func (h *Handler) Look(ctx context.Context, c Call, q *checks.Request, answer func(*checks.Answer)) error {
	q.Peek = true
	_, err := h.mayAsk(c, [][]byte{[]byte("RL.RULES"), []byte("MATCH"), q.Domain, nil, nil})
	if err == nil {
		_, err = h.check(ctx, c, q, answer)
	}
	return err
}

// check is Check for a request that the account may make. It also returns the outcome.
func (h *Handler) check(ctx context.Context, c Call, q *checks.Request, answer func(*checks.Answer)) (Outcome, error) {
	outcome := WasError
	x := singles.Get().(*single)
	for attempt := range maxAsks {
		h.renew(&x.batch)
		err := h.appendCheck(&x.batch, &x.check, q)
		if err == nil {
			if err = h.executor.Await(ctx, x.caller, &x.batch); err == context.Cause(ctx) && err != nil {
				return WasError, err // the Exec still owns the batch, so it is not reused
			}
		}
		var (
			ops []engine.Op
			ds  []engine.Decision
		)
		if err == nil {
			ops, ds, err = x.decided()
		}
		switch {
		case err != nil:
		case anyIs(ds, engine.Down):
			err = ErrDown
		case anyIs(ds, engine.Stale):
			if err = h.waitForRules(ctx, x.caller, attempt); err != nil {
				return WasError, err
			}
			continue
		default:
			if err = h.giveBack(ctx, x, q); err == context.Cause(ctx) && err != nil {
				return WasError, err
			}
			if err != nil {
				break
			}
			var a *checks.Answer
			if a, err = x.check.Answer(ops, ds); err == nil {
				if outcome = outcomeBy(&x.check, a, ds); x.once.Repeated {
					outcome = WasRepeated
				}
				answer(a)
				h.audit.closed(q, a.Closed, c.Account.Name(), c.From)
				h.noteEvents(x, a, q, ops, ds)
				if !a.Allowed && a.Reason != checks.Blocked {
					err = h.report(ctx, x, q)
				}
			}
		}
		if err != nil && err == context.Cause(ctx) {
			return WasError, err
		}
		x.release()
		if e := resp.ErrorOf(err); e != nil {
			return WasError, e
		}
		return outcome, err
	}
	x.release()
	return WasError, errRulesChange
}

// noteEvents gives the events of an answer to the sink, if there is a sink.
func (h *Handler) noteEvents(x *single, a *checks.Answer, q *checks.Request, ops []engine.Op, ds []engine.Decision) {
	if h.config.Events == nil {
		return
	}
	if all := x.check.AppendEvents(nil, a, ops, ds); len(all) > 0 {
		h.config.Events.Note(all, func() *rules.Request { return &q.Request })
	}
}

// decided returns the ops of the request and the decisions on them.
func (x *single) decided() ([]engine.Op, []engine.Decision, error) {
	b := &x.batch
	if !isOnce(b.Ops) || b.Decisions[0].Status == engine.Down {
		return b.Ops, b.Decisions, nil
	}
	c := b.CallOf(&b.Ops[0])
	if len(c.Answer) == 0 {
		return nil, nil, errLost
	}
	if err := x.once.Read(c); err != nil {
		return nil, nil, err
	}
	if x.once.Repeated {
		x.check.Repeats()
	}
	return x.once.Ops, x.once.Decisions, nil
}

// renew empties b for new ops.
func (h *Handler) renew(b *engine.Batch) {
	b.Reset()
	b.Features = h.config.Cluster.Features()
}

// giveBack executes the ops that give tokens back, if the request was allowed. These ops are a
// separate batch, because a request that was decided by outdated rules must return no tokens before
// it is decided again. If the request took tokens and the return fails, the error is ErrUncertain.
func (h *Handler) giveBack(ctx context.Context, x *single, q *checks.Request) error {
	h.renew(&x.returns)
	if x.check.AppendReturns(&x.returns, q, x.batch.Ops, x.batch.Decisions); len(x.returns.Ops) == 0 {
		return nil
	}
	err := h.executor.Await(ctx, x.caller, &x.returns)
	switch {
	case err != nil && err == context.Cause(ctx):
		return err
	case err == nil && anyIs(x.returns.Decisions, engine.Down):
		err = ErrDown
	}
	if err != nil {
		if slices.ContainsFunc(x.batch.Decisions, isChange) {
			return ErrUncertain
		}
		return err
	}
	x.check.Returned(q, x.batch.Decisions, x.returns.Decisions)
	return nil
}

// isChange reports whether a decision may have changed the state.
func isChange(d engine.Decision) bool { return d.Changed }

// report charges the tokens that a denied request reports as already used, see
// checks.Request.Report. It returns the cause if ctx ends, and otherwise nil: if the charge fails,
// for example because a node of the cluster has an older version, the answer to the request stays
// the same.
func (h *Handler) report(ctx context.Context, x *single, q *checks.Request) error {
	settling := *q
	if !settling.Report() {
		return nil
	}
	for attempt := range maxAsks {
		x.check.Release()
		h.renew(&x.batch)
		if h.appendCheck(&x.batch, &x.check, &settling) != nil {
			return nil
		}
		switch err := h.executor.Await(ctx, x.caller, &x.batch); {
		case err != nil && err == context.Cause(ctx):
			return err
		case err != nil || !anyIs(x.batch.Decisions, engine.Stale):
			return nil
		}
		if err := h.waitForRules(ctx, x.caller, attempt); err != nil {
			return err
		}
	}
	return nil
}

// release returns x to singles.
func (x *single) release() {
	x.batch.Reset()
	x.returns.Reset()
	x.once.Release()
	x.check.Release()
	singles.Put(x)
}

// mayCheck returns an error if an account may not make a request.
func (h *Handler) mayCheck(c Call, q *checks.Request) error {
	line := [][]byte{[]byte("RL.CHECK"), q.Domain, nil, nil}
	if q.Settle != 0 {
		line = [][]byte{[]byte("RL.SETTLE"), q.Domain, nil, nil, []byte("BY"), nil}
	}
	switch {
	case q.Once != nil:
		line = append(line, []byte("ONCE"), q.Once)
	case q.Reserve != nil:
		line = append(line, []byte("RESERVE"), q.Reserve, nil)
	}
	_, err := h.mayAsk(c, line)
	return err
}

// mayAsk returns the command of a line, or an error if an account may not send the line.
func (h *Handler) mayAsk(c Call, line [][]byte) (*Spec, error) {
	s := Session{h: h, account: c.Account}
	spec, err := s.permitted(line)
	if err == nil && h.IsLoading() {
		err = s.mayRunLoading(spec)
	}
	return spec, err
}
