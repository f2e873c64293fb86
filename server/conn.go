package server

import (
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"limitsrv/commands/resp"
)

// Bounds of a batch, so that a single connection neither delays other connections nor
// accumulates replies.
const (
	batchOps         = 1024
	batchOutputBytes = 256 << 10
	// shortOps replaces batchOps for connections that send bulk while other connections do
	// not.
	shortOps = 256
	// turnTime bounds the execution of a connection's commands before the next connection has
	// its turn. The command under way, or the few commands on plain values, are executed to
	// their end.
	turnTime = 250 * time.Microsecond
)

// A connection is heavy after a turn that put out heavyBytes, left part of its pipeline unexecuted,
// or is the second in a row that took turnTime, because a hundred turns of this length would delay
// all other connections. It stays heavy until a lighter turn after heavyFor. Of the second turn the
// processor time counts, because the first turn may have waited for a processor.
const (
	heavyBytes = 32 << 10
	heavyFor   = 10 * time.Second
)

// A nextStep is the event that a connection waits for.
type nextStep int

const (
	wantInput nextStep = iota // all complete commands are answered, or a command waits for other clients
	wantWrite                 // more commands follow once the output is written
	wantWake                  // a batch is in flight
	wantTurn                  // the first command may be long: it has its turn among heavy connections
	wantClose                 // close once the output is written
)

// A conn is a connection without its socket: bytes in, commands to the session, bytes
// out. Each transport drives it in the same way:
//
//	fill in.Space, report the bytes to in.Filled
//	advance until wantInput, writing the session's output before each next step;
//	at wantWake wait until the session is woken and Resume returns true, then go on
//	at wantTurn let others go first, then go on
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

	// heavyUntil is the earliest time, by env.clock, for a light turn to end the heavy state; 0:
	// not heavy. Only its own goroutine uses it.
	heavyUntil int64
	took       int64 // nanoseconds of the last turn
	known      bool  // it has sent a command
	slow       bool  // it took turnTime
	confirmed  bool  // so did the turn before, and this turn's processor time
	// threadTime measures the turn after a slow turn, see threadTime.
	threadTime func() int64

	active  atomic.Int64 // time since which it is idle, by the server's coarse clock, see env.closeReason
	blocked atomic.Int64 // time since which output waits to be written; 0: no output waits
}

// weigh updates heavyUntil after a turn with that much output. next is the step that
// follows.
func (c *conn) weigh(now int64, bytes int, next nextStep) {
	switch {
	case next == wantTurn:
	case bytes >= heavyBytes || next == wantWrite && !c.slow || c.confirmed:
		c.heavyUntil = now + int64(heavyFor)
	case c.heavyUntil != 0 && now >= c.heavyUntil && next == wantInput:
		c.heavyUntil = 0
	}
}

// advance is a turn of the connection: it passes the complete commands of the buffer to the
// session, until there are most of them, or most ops, or the turn has had turnTime or its output,
// executes them, and measures the turn. It allocates nothing.
func (c *conn) advance(most int) nextStep {
	s := c.session
	var thread int64
	confirm := c.slow
	if confirm {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread = c.threadTime()
	}
	spent := s.Spent()
	next, problem := c.execute(most, spent+int64(turnTime))
	c.took = s.Spent() - spent
	c.slow = c.took >= int64(turnTime)
	c.confirmed = confirm && c.slow && c.threadTime()-thread >= int64(turnTime)
	if next == wantWake || next == wantTurn {
		return next
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
	}
	return next
}

// execute executes commands of the buffer until the session has spent the time until, or another
// bound of a turn is reached.
func (c *conn) execute(most int, until int64) (next nextStep, problem string) {
	s := c.session
	if c.held != nil {
		if !s.Do(c.held) {
			return wantWake, ""
		}
		c.held = nil
	}
	out := s.Output()
	waits := len(*out)
	if s.Paused() && !s.Continue() {
		return wantWake, ""
	}
	next = wantWrite
	for n := 0; n < most && !s.Closing() && !s.Waits() && !s.Paused() && len(*out)-waits < batchOutputBytes &&
		s.Spent() < until; n++ {
		if s.Pending() >= most {
			if !s.Flush() {
				return wantWake, ""
			}
			if s.Paused() || len(*out)-waits >= batchOutputBytes {
				break
			}
		}
		args, text := c.in.Next(&c.limits.Limits, !s.Authenticated())
		if args == nil {
			next, problem = wantInput, text
			break
		}
		first := !c.known
		c.known = true
		if first && s.MayBeLong(args) {
			c.held = args
			return wantTurn, ""
		}
		if !s.Do(args) {
			c.held = args
			return wantWake, ""
		}
	}
	if !s.Flush() {
		return wantWake, ""
	}
	if s.Paused() {
		return wantWrite, "" // the reader keeps the error for the next call
	}
	return next, problem
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

// isAhead reports whether the client has sent more after a waiting command than may be
// held. It is read from meanwhile, because that shows its end.
func (c *conn) isAhead() bool { return c.session.Waits() && c.in.Held() > c.limits.QueryBytes }

// hasInput reports whether received bytes have not been executed yet.
func (c *conn) hasInput() bool { return c.held != nil || c.in.HasInput() || c.session.Paused() }
