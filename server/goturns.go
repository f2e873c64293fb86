package server

import "time"

// advance is a turn of the connection. Heavy and new connections pass a gate.
func (g *goroutines) advance(c *goConn) nextStep {
	next := wantTurn
	switch {
	case c.heavyUntil != 0:
	case c.known || !c.hasInput():
		return g.turn(c)
	default:
		next = g.turnBehindGate(c, newClients)
	}
	if next == wantTurn {
		next = g.turnBehindGate(c, knownClients)
	}
	return next
}

func (g *goroutines) turnBehindGate(c *goConn, list int) nextStep {
	g.gate.enter(list, c.admitted)
	defer g.endTurn(c, list)
	return g.turn(c)
}

func (g *goroutines) turn(c *goConn) nextStep {
	before := len(*c.session.Output())
	next := c.conn.advance(batchOps)
	c.weigh(g.env.clock.Load(), len(*c.session.Output())-before, next)
	g.countHeavy(c, c.heavyUntil != 0)
	return next
}

// If there are more than manyHeavies, their turns of together pauseAfter are followed by a pause as
// long as that, because the runtime looks for connections that have become ready only when it has
// nothing else to run, or after 10 ms.
const (
	manyHeavies = 4
	pauseAfter  = time.Millisecond // about the shortest sleep
)

// endTurn ends the turn of a connection that has passed the gate.
func (g *goroutines) endTurn(c *goConn, list int) {
	took := c.took // c may have another turn before the pause ends
	if g.heavies.Load() > manyHeavies && !g.draining.Load() {
		if worked := g.worked.Add(took); worked >= int64(pauseAfter) {
			g.worked.Add(-worked)
			time.AfterFunc(pauseAfter, func() { g.gate.leave(list, took) })
			return
		}
	}
	g.gate.leave(list, took)
}

// countHeavy updates heavies.
func (g *goroutines) countHeavy(c *goConn, heavy bool) {
	switch {
	case heavy && !c.heavy:
		g.heavies.Add(1)
	case !heavy && c.heavy:
		g.heavies.Add(-1)
	}
	c.heavy = heavy
}
