package server

import "syscall"

// What is at most read of a connection, in reads, when the server drains: more
// than a receive buffer holds.
const drainReads = 1024

// serve does what a connection that is ready wants: it writes what waits, or else
// reads once and answers. When the server drains it goes on until a read finds
// room left over, and closes.
func (l *loop) serve(c *loopConn) {
	defer l.rescue(c)
	if c.blocked.Load() != 0 && !(l.write(c) && l.advance(c)) {
		return
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

// read takes what has come in, as much as there is room for, and says whether it
// left none. A negative n says that the connection is closed.
func (l *loop) read(c *loopConn) (n int, full bool) {
	c.borrow(&l.work)
	room := c.in.space()
	n, errno := readNow(c.fd, room)
	switch {
	case n > 0:
		c.in.filled(n)
		c.traffic.in.Add(int64(n))
		c.active.Store(l.s.clock.Load())
		return n, n == len(room)
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		c.repay(&l.work)
		return 0, false
	}
	l.close(c)
	return -1, false
}

// advance executes what is in the buffer, batch by batch, each answered by one
// write. It returns true when all is answered, false when the connection has to
// wait or is closed.
func (l *loop) advance(c *loopConn) bool {
	c.borrow(&l.work)
	for {
		next := c.conn.advance()
		if next == wantWake {
			c.away = true
			l.poll.remove(c.fd)
			return false
		}
		if !l.write(c) {
			return false
		}
		switch next {
		case wantClose:
			l.close(c)
			return false
		case wantInput:
			c.repay(&l.work)
			return true
		}
	}
}

// write writes the output. False: the socket takes no more for now, and nothing
// is read until it does; or the connection is closed.
func (l *loop) write(c *loopConn) bool {
	out := c.session.Output()
	if len(*out) > c.limits.OutputBytes {
		l.s.log.Info("connection closed", "why", "more output than allowed", "bytes", len(*out))
		l.close(c)
		return false
	}
	for c.sent < len(*out) {
		n, errno := writeNow(c.fd, (*out)[c.sent:])
		switch errno {
		case 0:
			c.sent += n
			c.traffic.out.Add(int64(n))
		case syscall.EINTR:
		case syscall.EAGAIN:
			if c.blocked.Load() == 0 {
				c.blocked.Store(l.s.clock.Load())
				l.poll.change(c.fd, syscall.EPOLLOUT)
				c.repay(&l.work)
			}
			return false
		default:
			l.close(c)
			return false
		}
	}
	c.sent = 0
	*out = (*out)[:0]
	if c.blocked.Load() != 0 {
		c.blocked.Store(0)
		l.poll.change(c.fd, syscall.EPOLLIN)
	}
	return true
}

// rescue is deferred around all that calls a session. What was lent to the
// connection is lost with it.
func (l *loop) rescue(c *loopConn) {
	if p := recover(); p != nil {
		l.s.logPanic(p)
		l.drop(c)
	}
}

// close takes back what was lent and drops the connection. No batch may be away.
func (l *loop) close(c *loopConn) {
	out := c.session.Output()
	*out = (*out)[:0]
	c.in.release()
	c.repay(&l.work)
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
