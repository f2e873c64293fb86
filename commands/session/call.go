package session

import (
	"context"
	"time"

	"limitsrv/commands/auth"
	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// A Call is a command that does not come from a connection, but from a listener of
// another protocol.
type Call struct {
	Account *auth.Account // nil: no account
	From    string        // address in the form of CLIENT LIST
	DB      uint8         // of the keys
	Via     Protocol      // of a request for Check
	Args    [][]byte
}

// Decide executes an op command such as RL.PEEK and returns its decisions instead of a
// reply.
//
// Returns: the *resp.Error that a client would get if the account has no permission, the state
// is loading or the arguments are wrong; otherwise the error of the batch. In a cluster
// the batch is forwarded to the leader, where a client would be redirected. If ctx ends
// and no answer follows soon, the error of a command that may write is ErrUncertain.
func (h *Handler) Decide(ctx context.Context, c Call) ([]engine.Decision, error) {
	s := h.NewSessionAs(Client{Addr: c.From, Since: time.Now(), Close: func() {}, Wake: func() {}}, c.Account)
	defer s.Close()
	s.db = c.DB
	spec, err := s.permitted(c.Args)
	if err == nil && h.IsLoading() {
		err = s.mayRunLoading(spec)
	}
	if err == nil && (spec.Op == nil || spec.Reply == nil) {
		err = errNoOps
	}
	if err != nil {
		return nil, err
	}
	s.gather(spec, c.Args)
	if err := s.g.items[0].err; err != nil {
		s.giveBack()
		return nil, err
	}
	if err = h.await(ctx, &s.g.batch); err == ErrUncertain || err != nil && err == context.Cause(ctx) {
		return nil, err // the Exec still owns the batch, so it can not be reused
	}
	ds := append([]engine.Decision(nil), s.g.batch.Decisions...)
	s.giveBack()
	if anyIs(ds, engine.Down) {
		return nil, ErrDown
	}
	if e := resp.ErrorOf(err); e != nil {
		return nil, e
	}
	return ds, err
}

// May returns the error that a client of that account would get for a command line because
// of the command's name, arity or permissions; nil: no error.
func (h *Handler) May(a *auth.Account, args ...string) error {
	words := make([][]byte, len(args))
	for i, arg := range args {
		words[i] = []byte(arg)
	}
	_, err := (&Session{h: h, account: a}).permitted(words)
	return err
}

// permitted returns the command of a line, or an error if the session's user may not send
// it.
func (s *Session) permitted(args [][]byte) (c *Spec, err error) {
	c, err = s.h.registry.Lookup(args, nil)
	if err == nil {
		err = s.mayRun(c)
	}
	if err == nil {
		err = s.mayAs(c, args)
	}
	return c, err
}

var errNoOps = resp.NewError("ERR", "the command does not work on keys")
