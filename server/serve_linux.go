package server

import "syscall"

// What is at most read of a connection, in reads, when the server drains: more
// than a receive buffer holds.
const maxDrainReads = 1024

// serve does what a connection that is ready wants: it writes what waits, or else
// reads once and executes. When the server drains it goes on until a read finds
// room left over, and closes.
func (l *loop) serve(c *loopConn) {
	if c.queued { // it has enough to do
		return
	}
	defer l.recoverPanic(c)
	if c.blocked.Load() != 0 {
		l.queueWrite(c)
		l.flush()
		if !l.mayExecute(c) || l.writable(c) && !l.advance(c) {
			return
		}
	}
	for range maxDrainReads {
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
func (l *loop) writable(c *loopConn) bool { return !c.closed && c.blocked.Load() == 0 }

// aheadBytes is how much output of all connections may wait for clients until they
// are not read from any more. A client that sends a long pipeline whole and reads the
// replies then would otherwise wait for ever, as the server does for it.
const maxUnsentBytes = 64 << 20

// goesOn says that the connection may execute: it is open, or what waits for clients is
// not too much. Nothing more is read from strangers, when the server drains, and when
// the client or the session has said its last word.
func (l *loop) mayExecute(c *loopConn) bool {
	switch {
	case c.closed || l.writable(c):
		return !c.closed
	case l.draining || c.inputEnded || c.session.Closing() || !c.session.Authenticated():
		return false
	}
	return l.s.unsent.Load() < maxUnsentBytes
}

// wanted are the events that the connection waits for.
func (l *loop) interest(c *loopConn) uint32 {
	switch {
	case c.blocked.Load() == 0:
		return syscall.EPOLLIN
	case l.mayExecute(c):
		return syscall.EPOLLIN | syscall.EPOLLOUT
	}
	return syscall.EPOLLOUT
}

// attend has the poller tell of those.
func (l *loop) updateInterest(c *loopConn) {
	if want := l.interest(c); want != c.events && !c.inFlight && !c.closed {
		c.events = want
		l.poll.modify(c.fd, want)
	}
}

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
		full = n == len(room)
		if !full && !c.fullRead {
			l.lightWakeUps = lightWindow
		}
		c.fullRead = full
		return n, full
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		l.releaseIdle(c)
		return 0, false
	case errno == 0 && c.blocked.Load() != 0: // it may still take its replies
		c.inputEnded = true
		l.releaseIdle(c)
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
		c.executedAhead = c.executedAhead || c.blocked.Load() != 0
		before := len(*c.session.Output())
		next := c.conn.advance(l.batchSize(c))
		l.uncommitted = true
		if next == wantWrite || len(*c.session.Output())-before >= heavyBytes {
			c.heavyUntil = l.s.clock.Load() + int64(heavyFor)
		}
		switch next {
		case wantWake:
			c.inFlight = true
			l.poll.remove(c.fd)
			c.retain(l.work)
			return false
		case wantInput:
			l.releaseIdle(c)
			if l.draining {
				l.flush()
			}
			return l.writable(c)
		}
		l.queueWrite(c)
		l.flush()
		if !l.mayExecute(c) {
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

// modestFor is after how many wake-ups without one it is forgotten that there was a
// client who asked for little.
const lightWindow = 64

// batch is how many ops of a connection are executed at once: fewer of one that has sent
// more than a read takes where there are others that do not.
func (l *loop) batchSize(c *loopConn) int {
	if c.fullRead && l.lightWakeUps > 0 {
		return shortOps
	}
	return batchOps
}

// giveBack gives back what was lent to a connection that has to wait, unless it needs
// what it keeps. Requires that none of what was read is being executed.
func (l *loop) releaseBuffers(c *loopConn) {
	if c.held == nil {
		c.in.discardArgs()
		c.release(l.work)
	}
}

// rest gives back what was lent to a connection that has nothing to do, but for
// its output, which is due.
func (l *loop) releaseIdle(c *loopConn) {
	c.release(l.work)
	l.queueWrite(c)
}

// owe has the output, if there is any, written by the next flush.
func (l *loop) queueWrite(c *loopConn) {
	out := c.session.Output()
	switch {
	case len(*out) > 0:
		*out = l.work.out.claim(*out)
	case c.blocked.Load() == 0:
		*out = nil
		return
	default:
		*out = nil
	}
	if !c.writePending {
		c.writePending = true
		l.pendingWrites = append(l.pendingWrites, c)
	}
}

// flush commits what was executed and writes the output that is due. Between
// batches of a connection only, or when it is done.
func (l *loop) flush() {
	if l.uncommitted {
		l.uncommitted = false
		l.s.commit()
	}
	for _, c := range l.pendingWrites {
		c.writePending = false
		if !c.closed {
			l.write(c)
		}
	}
	clear(l.pendingWrites)
	l.pendingWrites = l.pendingWrites[:0]
	l.work.out.reset()
}

// write writes the output, behind what waits. If the socket takes no more for now, the
// rest waits.
func (l *loop) write(c *loopConn) {
	out := c.session.Output()
	rest := *out
	*out = nil
	c.gauges.recordOutput(len(rest))
	most := c.limits.OutputBytes
	if c.executedAhead {
		most += maxUnsentBytes
	}
	if bytes := c.backlog.bytes + len(rest); bytes > most {
		l.s.log.Info("connection closed", "client", c.client, "why", "more output than allowed", "bytes", bytes)
		l.close(c)
		return
	}
	if c.backlog.bytes > 0 {
		c.backlog.add(rest)
		l.writeBacklog(c)
		return
	}
	for len(rest) > 0 {
		n, errno := writeNow(c.fd, rest)
		switch errno {
		case 0:
			rest = rest[n:]
			c.traffic.out.Add(int64(n))
		case syscall.EINTR:
		case syscall.EAGAIN:
			c.backlog.add(rest)
			l.releaseBuffers(c)
			l.block(c, 0)
			return
		default:
			l.close(c)
			return
		}
	}
}

// writeQueue writes what waits.
func (l *loop) writeBacklog(c *loopConn) {
	written, errno := c.backlog.write(c.fd)
	c.traffic.out.Add(int64(written))
	switch errno {
	case 0:
		c.blocked.Store(0)
		c.executedAhead, c.deadlineBytes = false, 0
		l.countUnsent(c)
		l.updateInterest(c)
	case syscall.EAGAIN:
		l.block(c, written)
	default:
		l.close(c)
	}
}

// block has what waits do so until the client has taken some more than it just did.
func (l *loop) block(c *loopConn, taken int) {
	c.deadlineBytes -= taken
	if c.deadlineBytes <= 0 {
		c.deadlineBytes = c.backlog.bytes
		c.blocked.Store(l.s.clock.Load())
	}
	l.countUnsent(c)
	l.updateInterest(c)
}

// waits tells the server how much output of the connection waits.
func (l *loop) countUnsent(c *loopConn) {
	l.s.unsent.Add(int64(c.backlog.bytes - c.countedUnsent))
	c.countedUnsent = c.backlog.bytes
	storeIfChanged(&c.gauges.chunks, len(c.backlog.chunks))
	c.gauges.chunkBytes.Store(int64(c.backlog.bytes))
}

// rescue is deferred around all that calls a session. What was lent to the
// connection is lost with it.
func (l *loop) recoverPanic(c *loopConn) {
	if p := recover(); p != nil {
		l.s.logPanic(p)
		l.work.in.discard()
		l.work.args.discard()
		l.drop(c)
	}
}

// close takes back what was lent and drops the connection. No batch may be away.
func (l *loop) close(c *loopConn) {
	*c.session.Output() = nil
	c.in.discardArgs()
	c.release(l.work)
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
	c.backlog = backlog{}
	l.countUnsent(c)
	l.s.closeSession(&c.conn)
}
