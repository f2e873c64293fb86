package server

import "time"

// yield puts a connection off that has more to execute.
func (l *loop) yield(c *loopConn) {
	l.releaseBuffers(c)
	l.enqueue(c)
}

// awaitTurn puts a heavy connection off that is ready.
func (l *loop) deferHeavy(c *loopConn) {
	c.readable = c.readable || !c.queued
	l.enqueue(c)
}

func (l *loop) enqueue(c *loopConn) {
	if !c.queued {
		c.queued = true
		l.runQueue = append(l.runQueue, c)
	}
}

// A connection is heavy for heavyFor after a batch that put out heavyBytes or left some
// of its pipeline over: a hundred of those at each wake-up would keep all others
// waiting. For each wake-up the heavy ones together have turnTime, and the rest of the
// batch that is then under way.
const (
	heavyBytes = 32 << 10
	heavyFor   = 10 * time.Second
	timeSlice  = 500 * time.Microsecond
)

func (l *loop) isHeavy(c *loopConn) bool {
	return c.heavyUntil != 0 && l.s.clock.Load() < c.heavyUntil
}

// takeTurns serves the connections that were put off, in order, until turnTime is over,
// and at least one. All others have their replies before. A server that drains serves all.
func (l *loop) serveQueued() {
	if len(l.runQueue) == 0 {
		return
	}
	l.flush()
	turns := l.runQueue
	l.runQueue = l.spareQueue[:0]
	began, served := time.Now(), 0
	for served < len(turns) && (served == 0 || l.draining || time.Since(began) < timeSlice) {
		l.serveNext(turns[served])
		served++
	}
	rest := copy(turns, turns[served:])
	clear(turns[rest:])
	again := l.runQueue
	l.runQueue = append(turns[:rest], again...)
	clear(again)
	l.spareQueue = again[:0]
}

// takeTurn serves one of them.
func (l *loop) serveNext(c *loopConn) {
	ready := c.readable
	c.queued, c.readable = false, false
	switch {
	case c.closed || c.inFlight:
	case ready:
		l.serve(c)
	case l.mayExecute(c):
		l.continueBatch(c)
	}
}

// goOn goes on with one that has more to execute.
func (l *loop) continueBatch(c *loopConn) {
	defer l.recoverPanic(c)
	if l.advance(c) && l.draining {
		l.serve(c)
	}
}
