package server

import "time"

// yield releases the buffers of a connection that has more to execute, and queues it.
func (l *loop) yield(c *loopConn) {
	l.releaseBuffers(c)
	l.enqueue(c)
}

// deferHeavy queues a heavy connection that is readable or writable.
func (l *loop) deferHeavy(c *loopConn) {
	c.reported = c.reported || !c.queued
	l.enqueue(c)
}

func (l *loop) enqueue(c *loopConn) {
	if !c.queued {
		c.queued = true
		l.runQueue = append(l.runQueue, c)
	}
}

// timeSlice is the time that the heavy connections together have at each wake-up, plus the rest
// of the turn that is then under way. The replies of other connections are written once turns
// have taken it.
const timeSlice = 500 * time.Microsecond

// serveQueued serves the queued connections in order until timeSlice is over, and at least
// one. All other connections have their replies before. While draining it serves all.
func (l *loop) serveQueued() {
	if len(l.runQueue) == 0 {
		return
	}
	l.flush()
	queue := l.runQueue
	l.runQueue = l.spareQueue[:0]
	began, served := time.Now(), 0
	for served < len(queue) && (served == 0 || l.draining || time.Since(began) < timeSlice) {
		l.serveNext(queue[served])
		served++
	}
	left := copy(queue, queue[served:])
	clear(queue[left:])
	again := l.runQueue
	l.runQueue = append(queue[:left], again...)
	clear(again)
	l.spareQueue = again[:0]
}

// serveNext serves one queued connection.
func (l *loop) serveNext(c *loopConn) {
	ready := c.reported
	c.queued, c.reported = false, false
	switch {
	case c.closed || c.inFlight:
	case c.overdue && l.closeOverdue(c):
	case ready:
		l.serve(c)
	case l.mayExecute(c):
		l.continueBatch(c)
	}
}

// continueBatch executes the next batch of a connection that has more to execute.
func (l *loop) continueBatch(c *loopConn) {
	defer l.recoverPanic(c)
	if l.advance(c) && l.draining {
		l.serve(c)
	}
}
