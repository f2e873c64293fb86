package server

import "syscall"

// What is at most read of a connection, in reads, when the server drains: more
// than a receive buffer holds.
const drainReads = 1024

// serve does what a connection that is ready wants: it writes what waits, or else
// reads once and executes. When the server drains it goes on until a read finds
// room left over, and closes.
func (l *loop) serve(c *loopConn) {
	if c.yields { // it has enough to do
		return
	}
	defer l.rescue(c)
	if c.blocked.Load() != 0 {
		l.owe(c)
		l.flush()
		if !l.open(c) || !l.advance(c) {
			return
		}
	}
	for range drainReads {
		n, full := l.read(c)
		if n < 0 || n > 0 && !l.advance(c) || !l.draining {
			return
		}
		if !full {
			break
		}
	}
	l.close(c)
}

// open says that the connection is neither closed nor waits for its client to take
// replies.
func (l *loop) open(c *loopConn) bool { return !c.closed && c.blocked.Load() == 0 }

// borrow lends the connection what it needs while it has work.
func (l *loop) borrow(c *loopConn) {
	if l.work.out.full() {
		l.flush()
	}
	c.borrow(l.work)
}

// read takes what has come in, as much as there is room for, and says whether it
// left none. A negative n says that the connection is closed.
func (l *loop) read(c *loopConn) (n int, full bool) {
	l.borrow(c)
	room := c.in.space()
	n, errno := readNow(c.fd, room)
	switch {
	case n > 0:
		c.in.filled(n)
		c.traffic.in.Add(int64(n))
		c.active.Store(l.s.clock.Load())
		return n, n == len(room)
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		l.rest(c)
		return 0, false
	}
	l.close(c)
	return -1, false
}

// advance executes a batch of what is in the buffer. If that is all of it, the
// replies are written at the end of the wake-up; otherwise, and for a connection that
// ends, at once, and others have their turn before the next batch. When the server
// drains it executes all batches. It returns true when all is executed, false when the
// connection has to wait or is closed.
func (l *loop) advance(c *loopConn) bool {
	for {
		l.borrow(c)
		next := c.conn.advance()
		l.executed = true
		switch next {
		case wantWake:
			c.away = true
			l.poll.remove(c.fd)
			c.keep(l.work)
			return false
		case wantInput:
			l.rest(c)
			if l.draining {
				l.flush()
			}
			return l.open(c)
		}
		l.owe(c)
		l.flush()
		if !l.open(c) {
			return false
		}
		if next == wantClose {
			l.close(c)
			return false
		}
		if !l.draining {
			l.yield(c)
			return false
		}
	}
}

// yield puts a connection off that has more to execute.
func (l *loop) yield(c *loopConn) {
	c.repay(l.work)
	if !c.yields {
		c.yields = true
		l.more = append(l.more, c)
	}
}

// takeTurns goes on with the connections that were put off.
func (l *loop) takeTurns() {
	l.turns, l.more = l.more, l.turns[:0]
	for _, c := range l.turns {
		c.yields = false
		if l.open(c) && !c.away {
			l.goOn(c)
		}
	}
	clear(l.turns)
}

// goOn goes on with one of them.
func (l *loop) goOn(c *loopConn) {
	defer l.rescue(c)
	if l.advance(c) && l.draining {
		l.serve(c)
	}
}

// rest gives back what was lent to a connection that has nothing to do, but for
// its output, which is due.
func (l *loop) rest(c *loopConn) {
	c.repay(l.work)
	l.owe(c)
}

// owe has the output, if there is any, written by the next flush.
func (l *loop) owe(c *loopConn) {
	out := c.session.Output()
	switch {
	case c.blocked.Load() != 0: // it is not in the arena
	case len(*out) == 0:
		*out = nil
		return
	default:
		*out = l.work.out.take(*out)
	}
	if !c.due {
		c.due = true
		l.due = append(l.due, c)
	}
}

// flush commits what was executed and writes the output that is due. Between
// batches of a connection only, or when it is done.
func (l *loop) flush() {
	if l.executed {
		l.executed = false
		l.s.commit()
	}
	for _, c := range l.due {
		c.due = false
		if !c.closed {
			l.write(c)
		}
	}
	clear(l.due)
	l.due = l.due[:0]
	l.work.out.empty()
}

// write writes the output. If the socket takes no more for now, the rest waits in
// memory of the connection's own, and nothing is read until it does.
func (l *loop) write(c *loopConn) {
	out := c.session.Output()
	rest := *out
	if len(rest) > c.limits.OutputBytes {
		l.s.log.Info("connection closed", "why", "more output than allowed", "bytes", len(rest))
		l.close(c)
		return
	}
	blocked := c.blocked.Load() != 0
	for len(rest) > 0 {
		n, errno := writeNow(c.fd, rest)
		switch errno {
		case 0:
			rest = rest[n:]
			c.traffic.out.Add(int64(n))
		case syscall.EINTR:
		case syscall.EAGAIN:
			*out = rest
			if !blocked {
				*out = append([]byte(nil), rest...)
				c.blocked.Store(l.s.clock.Load())
				l.poll.change(c.fd, syscall.EPOLLOUT)
				if c.held == nil { // else it needs what it keeps
					c.in.release()
					c.repay(l.work)
				}
			}
			return
		default:
			l.close(c)
			return
		}
	}
	*out = nil
	if blocked {
		c.blocked.Store(0)
		l.poll.change(c.fd, syscall.EPOLLIN)
	}
}

// rescue is deferred around all that calls a session. What was lent to the
// connection is lost with it.
func (l *loop) rescue(c *loopConn) {
	if p := recover(); p != nil {
		l.s.logPanic(p)
		l.work.in.forget()
		l.work.args.forget()
		l.drop(c)
	}
}

// close takes back what was lent and drops the connection. No batch may be away.
func (l *loop) close(c *loopConn) {
	*c.session.Output() = nil
	c.in.release()
	c.repay(l.work)
	l.drop(c)
}

// drop closes the socket, which the poller then forgets, and the session. Only
// the first time counts.
func (l *loop) drop(c *loopConn) {
	if c.closed {
		return
	}
	c.closed = true
	_ = syscall.Close(c.fd)
	if c.fd < len(l.conns) {
		l.conns[c.fd] = nil
	}
	l.load.Add(-1)
	l.s.closeSession(&c.conn)
}
