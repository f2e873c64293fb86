package server

import "sync/atomic"

// A batch of a pipeline ends here, so that one connection can neither make others
// wait for long nor pile up replies.
const (
	batchOps         = 1024
	batchOutputBytes = 256 << 10
	// shortOps is instead of batchOps where others ask for little.
	shortOps = 256
)

// A turn is what a connection waits for.
type nextStep int

const (
	wantInput nextStep = iota // all complete commands are answered
	wantWrite                 // there are more, once the output is written
	wantWake                  // a batch is away
	wantClose                 // nothing more, once the output is written
)

// A conn is a connection but for its socket: bytes in, commands to the session,
// bytes out. Both transports drive it alike:
//
//	fill in.space, say in.filled
//	advance until wantInput, writing the session's output before each next step;
//	at wantWake wait until the session is woken and Resume is true, then go on
//	if it is woken while it waits for input or output: Resume it, and go on
//	settle or repay the reader
//
// One goroutine at a time uses it, but for the atomics.
type conn struct {
	session Session
	in      reader
	limits  *Limits
	client  string   // its address
	held    [][]byte // a command that the session has not taken yet
	traffic *traffic

	gauges gauges

	active  atomic.Int64 // when bytes last came in, by the server's coarse clock
	blocked atomic.Int64 // since when output waits to be written; 0: none does
}

// advance feeds the complete commands of the buffer to the session, as far as one
// batch of most ops goes, and executes them. It allocates nothing.
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
	for more && !s.Closing() && s.Pending() < most && len(*out)-waits < batchOutputBytes {
		var args [][]byte
		args, problem = c.in.next(c.limits, !s.Authenticated())
		if more = args != nil; more && !s.Do(args) {
			c.held = args
			return wantWake
		}
	}
	if !s.Flush() {
		return wantWake
	}
	c.in.discardArgs()
	switch {
	case s.Closing():
		return wantClose
	case problem != "":
		s.ProtocolError(problem)
		return wantClose
	case more:
		return wantWrite
	}
	return wantInput
}

// borrow lends the connection what it needs while it has work. Requires that the
// arena of w is not full.
func (c *conn) borrow(w *workspace) {
	c.in.borrow(w)
	if out := c.session.Output(); *out == nil {
		*out = w.out.lend()
	}
}

// keep lets the connection keep what a batch that is away points into. Replies
// that are there already wait for it in memory of their own.
func (c *conn) retain(w *workspace) {
	c.in.retain(w)
	out := c.session.Output()
	*out = append([]byte(nil), *out...)
}

// repay releases the buffers that borrow lent, except the output.
func (c *conn) release(w *workspace) {
	c.in.release(w)
	c.recordSizes()
}

// unread says that bytes have come that are not executed yet.
func (c *conn) hasInput() bool { return c.held != nil || c.in.pos < len(c.in.buf) }

// overdue says why the connection is to be closed now, or nothing.
func (c *conn) closeReason(s *Server) string {
	now, blocked, idle := s.clock.Load(), c.blocked.Load(), s.idleTimeout.Load()
	switch {
	case blocked != 0 && now-blocked > s.writeTimeout.Load():
		return "the client does not read its replies"
	case idle > 0 && !c.session.Listening() && now-c.active.Load() > idle:
		return "idle"
	}
	return ""
}
