package server

import "time"

// yield puts a connection off that has more to execute.
func (l *loop) yield(c *loopConn) {
	l.giveBack(c)
	l.enqueue(c)
}

// awaitTurn puts a heavy connection off that is ready.
func (l *loop) awaitTurn(c *loopConn) {
	c.ready = c.ready || !c.yields
	l.enqueue(c)
}

func (l *loop) enqueue(c *loopConn) {
	if !c.yields {
		c.yields = true
		l.more = append(l.more, c)
	}
}

// A connection is heavy for heavyFor after a batch that put out heavyBytes or left some
// of its pipeline over: a hundred of those at each wake-up would keep all others
// waiting. For each wake-up the heavy ones together have turnTime, and the rest of the
// batch that is then under way.
const (
	heavyBytes = 32 << 10
	heavyFor   = 10 * time.Second
	turnTime   = 500 * time.Microsecond
)

func (l *loop) isHeavy(c *loopConn) bool {
	return c.heavyUntil != 0 && l.s.clock.Load() < c.heavyUntil
}

// takeTurns serves the connections that were put off, in order, until turnTime is over,
// and at least one. All others have their replies before. A server that drains serves all.
func (l *loop) takeTurns() {
	if len(l.more) == 0 {
		return
	}
	l.flush()
	turns := l.more
	l.more = l.turns[:0]
	began, served := time.Now(), 0
	for served < len(turns) && (served == 0 || l.draining || time.Since(began) < turnTime) {
		l.takeTurn(turns[served])
		served++
	}
	rest := copy(turns, turns[served:])
	clear(turns[rest:])
	again := l.more
	l.more = append(turns[:rest], again...)
	clear(again)
	l.turns = again[:0]
}

// takeTurn serves one of them.
func (l *loop) takeTurn(c *loopConn) {
	ready := c.ready
	c.yields, c.ready = false, false
	switch {
	case c.closed || c.away:
	case ready:
		l.serve(c)
	case l.goesOn(c):
		l.goOn(c)
	}
}

// goOn goes on with one that has more to execute.
func (l *loop) goOn(c *loopConn) {
	defer l.rescue(c)
	if l.advance(c) && l.draining {
		l.serve(c)
	}
}
