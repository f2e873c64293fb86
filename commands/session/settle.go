package session

import (
	"context"
	"strings"

	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// A Settled is the answer to RL.COMMIT, RL.EXTEND or RL.CANCEL.
type Settled struct {
	Known      bool // there is a reservation with the id; otherwise all else is zero
	Done       bool
	State      string
	N          int64
	WaitMillis int64 // of a state limited: -1 if no wait is long enough
}

// IsCommit reports whether the reservation is or was committed while it was open.
func (out *Settled) IsCommit() bool { return out.State == reservations.Committed }

// IsLimited reports whether a limit denies an extension.
func (out *Settled) IsLimited() bool { return out.State == reservations.Limited }

// Settle executes the line of RL.COMMIT, RL.EXTEND or RL.CANCEL in c.Args, in database 0, for a listener of
// another protocol. The bytes of the line must stay unchanged until the answer. It has the errors of
// Check.
func (h *Handler) Settle(ctx context.Context, c Call) (out Settled, err error) {
	spec, err := h.mayAsk(c, c.Args)
	if err != nil {
		return out, err
	}
	x := singles.Get().(*single)
	h.renew(&x.batch)
	if err = spec.Op(&x.batch, c.Args); err == nil {
		if err = h.executor.Await(ctx, x.caller, &x.batch); err != nil && err == context.Cause(ctx) {
			return out, err // the Exec still owns the batch, so it is not reused
		}
	}
	switch {
	case err != nil:
	case anyIs(x.batch.Decisions, engine.Down):
		err = ErrDown
	default:
		err = out.read(x.batch.Calls[0].Answer)
	}
	x.release()
	if e := resp.ErrorOf(err); e != nil {
		return out, e
	}
	return out, err
}

// read reads an answer: nil, an error, or [done, state, n, wait_ms].
func (out *Settled) read(data []byte) error {
	if len(data) == 0 {
		return errLost
	}
	v, rest, _ := answer.Next(data)
	switch v.Kind {
	case answer.NilArray:
		return nil
	case answer.Error:
		code, text, _ := strings.Cut(string(v.Bytes), " ")
		return resp.NewError(code, text)
	}
	done, rest, ok := answer.TakeInt(rest)
	state, rest, stated := answer.TakeBulk(rest)
	n, rest, counted := answer.TakeInt(rest)
	wait, _, waits := answer.TakeInt(rest)
	if !ok || !stated || !counted || !waits {
		return errLost
	}
	*out = Settled{Known: true, Done: done != 0, State: string(state), N: n, WaitMillis: wait}
	return nil
}
