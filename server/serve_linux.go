package server

import (
	"syscall"

	"limitsrv/commands/session"
)

// maxDrainReads bounds the reads from a connection while the server drains: more than a
// receive buffer holds.
const maxDrainReads = 1024

// serve handles a ready connection: it writes the backlog if there is a backlog, and
// otherwise reads once and executes. While draining it continues until a read leaves room
// in the buffer, and closes.
func (l *loop) serve(c *loopConn) {
	if c.queued { // runQueue serves it
		return
	}
	defer l.recoverPanic(c)
	if c.blocked.Load() != 0 {
		l.queueWrite(c)
		l.flush()
		if c.queued || !l.mayExecute(c) {
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
	if !c.session.Waits() { // otherwise it is served again when it is resumed
		l.close(c)
	}
}

// writable reports whether the connection is open and has no backlog.
func (l *loop) writable(c *loopConn) bool { return !c.closed && c.blocked.Load() == 0 }

// mayExecute reports whether the connection may read and execute commands. It may if it has no
// backlog, or if its backlog and the answers to all clients are below their bounds. This lets a
// client send a long pipeline before it reads replies; otherwise client and server would wait for
// each other for ever. A connection with a backlog may not while the server drains, before
// authentication, or after the client or the session has ended.
func (l *loop) mayExecute(c *loopConn) bool {
	switch {
	case c.closed || l.writable(c):
		return !c.closed
	case l.draining || c.inputEnded || c.session.Closing() || !c.session.Authenticated():
		return false
	}
	return c.backlog.bytes < c.limits.OutputBytes && !l.env.room.Full()
}

// interest returns the events that the connection waits for.
func (l *loop) interest(c *loopConn) uint32 {
	switch {
	case c.blocked.Load() == 0:
		return syscall.EPOLLIN
	case l.mayExecute(c):
		return syscall.EPOLLIN | syscall.EPOLLOUT
	}
	return syscall.EPOLLOUT
}

// updateInterest re-registers the connection's epoll events if they changed.
func (l *loop) updateInterest(c *loopConn) {
	if want := l.interest(c); want != c.events && !c.inFlight && !c.closed {
		c.events = want
		l.pollOf(c).modify(c.fd, want)
	}
}

// borrow lends the connection the buffers that it needs while it has work.
func (l *loop) borrow(c *loopConn) {
	if l.work.out.full() {
		l.flush()
	}
	c.borrow(l.work)
}

// read reads once and reports whether the input filled the buffer. A negative n means
// that the connection is closed.
func (l *loop) read(c *loopConn) (n int, full bool) {
	l.borrow(c)
	n, full, errno := l.receive(c)
	switch {
	case n > 0:
		c.traffic.in.Add(int64(n))
		if !full && !c.fullRead {
			l.lightWakeUps = lightWindow
		}
		c.fullRead = full
		if c.isAhead() {
			l.env.log.Info("connection closed", "client", c.client, "why", errAhead)
			l.close(c)
			return -1, false
		}
		return n, full
	case errno == syscall.EAGAIN || errno == syscall.EINTR:
		l.releaseIdle(c)
		return 0, full
	case errno == 0 && c.blocked.Load() != 0: // it may still take its replies
		c.inputEnded = true
		l.releaseIdle(c)
		return 0, false
	}
	l.close(c)
	return -1, false
}

// receive reads once into the input. It reports whether there may be more input, also if TLS
// has received a part of a record only, and errno as readNow does.
func (l *loop) receive(c *loopConn) (n int, full bool, errno syscall.Errno) {
	if c.secured != nil {
		return l.receiveTLS(c)
	}
	room := c.in.Space()
	n, errno = readNow(c.fd, room)
	c.in.Filled(n)
	return n, n == len(room), errno
}

// advance executes a batch of the commands in the buffer. If that is all of them, the
// replies are written at the end of the wake-up. Otherwise, and for a connection that ends,
// they are written at once, and other connections are served before the next batch. While
// draining it executes all batches. It returns true when all is executed, and false when
// the connection has to wait or is closed.
func (l *loop) advance(c *loopConn) bool {
	for {
		l.borrow(c)
		before := len(*c.session.Output())
		next := c.conn.advance(l.batchSize(c))
		l.uncommitted = true
		now := l.env.clock.Load()
		c.active.Store(now)
		c.weigh(now, len(*c.session.Output())-before, next)
		l.unflushedNanos += c.took
		switch next {
		case wantWake:
			c.inFlight = true
			if c.fullRead {
				l.unwatch(c) // more has arrived, or will soon
			}
			c.retain(l.work)
			return false
		case wantTurn:
			if l.draining {
				continue
			}
			c.retain(l.work)
			l.enqueue(c)
			return false
		case wantInput:
			l.releaseIdle(c)
			if l.draining || l.unflushedNanos >= int64(timeSlice) {
				l.flush()
			}
			return l.writable(c)
		}
		l.queueWrite(c)
		l.flush()
		if !l.mayExecute(c) {
			l.releaseBuffers(c)
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

// lightWindow is the number of wake-ups until the loop forgets a light client: a client
// with two successive reads that left room in the buffer.
const lightWindow = 64

// batchSize returns the number of ops that the connection executes at once: fewer if it
// fills its buffer and other connections do not.
func (l *loop) batchSize(c *loopConn) int {
	if c.fullRead && l.lightWakeUps > 0 {
		return shortOps
	}
	return batchOps
}

// releaseBuffers returns the buffers of a connection that has to wait, unless it retains a
// command. Requires: no part of the input is being executed.
func (l *loop) releaseBuffers(c *loopConn) {
	if c.held == nil {
		c.in.DiscardArgs()
		c.release(l.work)
	}
}

// releaseIdle returns the buffers of a connection without work and queues its output.
func (l *loop) releaseIdle(c *loopConn) {
	c.release(l.work)
	l.queueWrite(c)
}

// queueWrite queues the output, if there is any, for the next flush.
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

// flush commits the executed batches and writes the queued output. Requires: no
// connection is in the middle of a batch.
func (l *loop) flush() {
	if l.uncommitted {
		l.uncommitted = false
		l.env.commit()
	}
	for _, c := range l.pendingWrites {
		c.writePending = false
		if !c.closed {
			l.write(c)
		}
	}
	clear(l.pendingWrites)
	l.pendingWrites = l.pendingWrites[:0]
	l.unflushedNanos = 0
	l.work.out.reset()
}

// write writes the output. It closes the connection of a subscriber with too many unread bytes.
func (l *loop) write(c *loopConn) {
	out := c.session.Output()
	rest := *out
	*out = nil
	c.gauges.recordOutput(len(rest))
	if bytes := c.backlog.bytes + len(rest); c.backlog.bytes > 0 && bytes > l.mostMessages(c) && c.session.Listening() {
		l.env.log.Info("connection closed", "client", c.client, "why", "output limit exceeded", "bytes", bytes)
		l.close(c)
		return
	}
	if c.secured != nil && len(rest) > 0 {
		c.traffic.out.Add(int64(len(rest)))
		rest = l.sealOutput(c, rest)
	}
	l.send(c, rest)
}

// mostMessages returns the maximum number of bytes that a subscriber may leave unread.
func (l *loop) mostMessages(c *loopConn) int {
	if l.env.room.Full() {
		return min(c.limits.OutputBytes, session.CrowdedBytes)
	}
	return c.limits.OutputBytes
}

// send writes out, after the backlog. The part that the socket does not take becomes
// backlog.
func (l *loop) send(c *loopConn, out []byte) {
	if c.backlog.bytes > 0 {
		c.backlog.add(out)
		l.writeBacklog(c)
		return
	}
	for most := sentAtOnce; len(out) > 0; {
		n, errno := writeNow(c.fd, out[:min(len(out), most)])
		if errno == 0 {
			out = out[n:]
			c.countSent(n)
			if most -= n; most <= 0 && len(out) > 0 {
				errno = syscall.EAGAIN // for the next wake-up
			}
		}
		switch errno {
		case 0, syscall.EINTR:
		case syscall.EAGAIN:
			c.backlog.add(out)
			l.releaseBuffers(c)
			l.block(c, 0)
			return
		default:
			l.close(c)
			return
		}
	}
}

// countSent counts bytes that the socket has taken. Over TLS replies are counted before they
// are sealed.
func (c *loopConn) countSent(n int) {
	if c.secured == nil {
		c.traffic.out.Add(int64(n))
	}
}

// writeBacklog writes the backlog.
func (l *loop) writeBacklog(c *loopConn) {
	written, errno := c.backlog.write(c.fd)
	c.countSent(written)
	switch errno {
	case 0:
		c.active.Store(l.env.clock.Load())
		c.blocked.Store(0)
		c.deadlineBytes = 0
		l.countUnsent(c)
		l.updateInterest(c)
		l.enqueue(c) // its input may have commands, for which no event comes
	case syscall.EAGAIN:
		l.block(c, written)
		if written > 0 && l.mayExecute(c) {
			l.enqueue(c) // as above: the backlog may be below its bound now
		}
	default:
		l.close(c)
	}
}

// block marks c as blocked, and restarts its write timeout if the backlog that was there
// at the last restart has been written.
func (l *loop) block(c *loopConn, taken int) {
	c.deadlineBytes -= taken
	if c.deadlineBytes <= 0 {
		c.deadlineBytes = c.backlog.bytes
		c.blocked.Store(l.env.clock.Load())
	}
	l.countUnsent(c)
	l.updateInterest(c)
}

// countUnsent updates the room and the gauges after a change of the backlog.
func (l *loop) countUnsent(c *loopConn) {
	l.env.room.Add(int64(c.backlog.bytes - c.countedUnsent))
	c.countedUnsent = c.backlog.bytes
	storeIfChanged(&c.gauges.chunks, len(c.backlog.chunks))
	c.gauges.chunkBytes.Store(int64(c.backlog.bytes))
}

// recoverPanic is deferred around all calls of a session. The buffers lent to the
// connection are given up.
func (l *loop) recoverPanic(c *loopConn) {
	if p := recover(); p != nil {
		l.env.logPanic(p)
		l.work.in.Discard()
		l.drop(c)
	}
}

// close returns the buffers and drops the connection. Requires: no batch is in flight.
func (l *loop) close(c *loopConn) {
	*c.session.Output() = nil
	c.in.DiscardArgs()
	c.release(l.work)
	l.drop(c)
}

// drop closes the socket, which unregisters it from the poller, and the session. Further
// calls have no effect.
func (l *loop) drop(c *loopConn) {
	if c.closed {
		return
	}
	c.closed = true
	if c.secured != nil && c.backlog.bytes == 0 {
		c.secured.end(c.fd)
	}
	_ = syscall.Close(c.fd)
	if c.fd < len(l.conns) {
		l.conns[c.fd] = nil
	}
	l.load.Add(-1)
	c.backlog = backlog{}
	l.countUnsent(c)
	l.env.closeSession(&c.conn)
}
