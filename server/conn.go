package server

import (
	"errors"
	"sync/atomic"

	"limitsrv/commands/resp"
)

// Bounds of a batch, so that one connection neither delays the others nor accumulates
// replies.
const (
	batchOps         = 1024
	batchOutputBytes = 256 << 10
	// shortOps replaces batchOps for connections that send bulk while others do not.
	shortOps = 256
)

// A nextStep is the event that a connection waits for.
type nextStep int

const (
	wantInput nextStep = iota // all complete commands are answered, or one waits for others
	wantWrite                 // more commands follow once the output is written
	wantWake                  // a batch is in flight
	wantClose                 // close once the output is written
)

// A conn is a connection without its socket: bytes in, commands to the session, bytes
// out. Each transport drives it in the same way:
//
//	fill in.Space, report the bytes to in.Filled
//	advance until wantInput, writing the session's output before each next step;
//	at wantWake wait until the session is woken and Resume returns true, then go on
//	if it is woken while it waits for input or output: Resume it, and go on
//	Compact or Release the reader
//
// Concurrency: one goroutine at a time; the atomics may be read by any.
type conn struct {
	session Session
	in      resp.Reader
	limits  *Limits
	client  string   // the client's address
	held    [][]byte // a command that the session has not accepted yet
	traffic *traffic

	gauges gauges

	active  atomic.Int64 // time since which it is idle, by the server's coarse clock, see env.closeReason
	blocked atomic.Int64 // time since which output waits to be written; 0: none waits
}

// advance passes the complete commands of the buffer to the session, until a batch has
// most ops, and executes them. It allocates nothing.
func (c *conn) advance(most int) nextStep {
	s := c.session
	if c.held != nil {
		if !s.Do(c.held) {
			return wantWake
		}
		c.held = nil
	}
	out := s.Output()
	waits := len(*out)
	more := true
	problem := ""
	for more && !s.Closing() && !s.Waits() && s.Pending() < most && len(*out)-waits < batchOutputBytes {
		var args [][]byte
		args, problem = c.in.Next(&c.limits.Limits, !s.Authenticated())
		if more = args != nil; more && !s.Do(args) {
			c.held = args
			return wantWake
		}
	}
	if !s.Flush() {
		return wantWake
	}
	c.in.DiscardArgs()
	switch {
	case s.Closing():
		return wantClose
	case problem != "":
		s.ProtocolError(problem)
		return wantClose
	case s.Waits():
		return wantInput
	case more:
		return wantWrite
	}
	return wantInput
}

// borrow lends the connection the buffers that it needs while it has work. Requires: the
// arena of w is not full.
func (c *conn) borrow(w *workspace) {
	c.in.Borrow(w.in)
	if out := c.session.Output(); *out == nil {
		*out = w.out.lend()
	}
}

// retain keeps the buffers that a batch in flight points into. Replies that are already
// there move to memory of their own.
func (c *conn) retain(w *workspace) {
	c.in.Retain(w.in)
	out := c.session.Output()
	*out = append([]byte(nil), *out...)
}

// release returns the buffers that borrow lent, except the output.
func (c *conn) release(w *workspace) {
	c.in.Release(w.in)
	c.recordSizes()
}

// errAhead is the reason for closing a connection that isAhead.
var errAhead = errors.New("too much input behind a command that waits")

// isAhead reports whether the client has sent more behind a command that waits than may be
// held. It is read from meanwhile, because that shows its end.
func (c *conn) isAhead() bool { return c.session.Waits() && c.in.Held() > c.limits.QueryBytes }

// hasInput reports whether received bytes have not been executed yet.
func (c *conn) hasInput() bool { return c.held != nil || c.in.HasInput() }
