package commands

import (
	"context"
	"time"

	"limitsrv/engine"
)

// A Call is a command of somebody who has no connection, but comes by way of a
// listener that speaks another protocol.
type Call struct {
	Account Account
	From    string // the address as CLIENT LIST shows it
	Args    [][]byte
	// Commit is called between executing and answering, as the server does for
	// connections; nil: nothing.
	Commit func()
}

// Decide carries out a command that becomes ops on keys, such as RL.PEEK, and gives
// the decisions instead of a reply. What the account may not do, or the state can't
// be asked for now, is the error that a client would get, an *Error but for what
// befell the batch. Clients of a cluster are sent to the node that leads; here that
// one is asked for them. When ctx ends before the answer, the command may have been
// carried out or not.
func (h *Handler) Decide(ctx context.Context, c Call) ([]engine.Decision, error) {
	s := h.NewSessionAs(Client{Addr: c.From, Since: time.Now(), Close: func() {}, Wake: func() {}}, c.Account)
	defer s.Close()
	spec, err := s.permitted(c.Args)
	if err == nil && h.loading() {
		err = s.mayRunLoading(spec)
	}
	if err == nil && spec.Op == nil {
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
	decided := make(chan error, 1)
	h.exec(&s.g.batch, func(err error) { decided <- err })
	if c.Commit != nil {
		commit(c.Commit)
	}
	select {
	case err = <-decided:
	case <-ctx.Done(): // the batch is still another's: it is not used again
		return nil, context.Cause(ctx)
	}
	ds := append([]engine.Decision(nil), s.g.batch.Decisions...)
	s.giveBack()
	if anyIs(ds, engine.Down) {
		return nil, errDown
	}
	if told := clientError(err); told != nil {
		return nil, told
	}
	return ds, err
}

// May is the error that a client of that account would get for a command line, as far
// as it is about the command and who sends it; nil: none.
func (h *Handler) May(a Account, args ...string) error {
	words := make([][]byte, len(args))
	for i, arg := range args {
		words[i] = []byte(arg)
	}
	_, err := (&Session{h: h, account: a.account}).permitted(words)
	return err
}

// permitted is the command of a line, if the user of the session may send it.
func (s *Session) permitted(args [][]byte) (c *spec, err error) {
	c, err = s.h.registry.lookup(args, nil)
	if err == nil {
		err = s.mayRun(c)
	}
	if err == nil {
		err = s.mayAs(c, args)
	}
	return c, err
}

var errNoOps = &Error{"ERR", "the command does not work on keys"}
