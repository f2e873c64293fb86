package server

import "time"

const (
	// maxUnauthPerTurn bounds the unauthenticated connections served at one time: about a
	// tenth of a millisecond of work, and at most timeSlice.
	maxUnauthPerTurn = 8
	// newShare divides the time of other clients: beyond the few at a wake-up, new clients are
	// served in that share of it. Without it, new clients of a saturated server would wait
	// until the other clients paused: 500 at once with pipelines of 64, for a second.
	newShare = 4
)

// serveNew serves a few unauthenticated connections, if any are ready, and accepts a few. If
// the last wake-up left new clients, it continues for a share of the time that other clients
// have had since.
func (l *loop) serveNew(unauth bool) {
	began, share := time.Now(), time.Duration(0)
	if !l.newWaitSince.IsZero() {
		share = began.Sub(l.newWaitSince) / newShare
		l.newWaitSince = time.Time{}
	}
	for {
		left := unauth && l.serveUnauth()
		if len(l.readyListeners) > 0 {
			l.flush()
			l.acceptReady()
		}
		if !left && len(l.readyListeners) == 0 {
			return
		}
		if now := time.Now(); now.Sub(began) >= share {
			l.newWaitSince = now
			l.readyListeners = l.readyListeners[:0] // the poller reports them again
			return
		}
		l.flush()
	}
}

// serveUnauth serves a few unauthenticated connections, and reports whether more may be ready,
// which the poller reports again.
func (l *loop) serveUnauth() (left bool) {
	began := time.Now()
	ready := l.poll.readyUnauth()
	for i, e := range ready {
		if i > 0 && time.Since(began) >= timeSlice {
			return true
		}
		switch c := l.conns[e.Fd]; {
		case c == nil:
		case c.inFlight:
			l.unwatch(c)
		default:
			l.serve(c)
			l.promote(c)
		}
	}
	return len(ready) == maxUnauthPerTurn
}

// promote moves a connection to the connections that are served first, once it is authenticated
// and sends its second complete command. Many clients send a single command, and the move costs
// two system calls.
func (l *loop) promote(c *loopConn) {
	if c.closed || !c.session.Authenticated() || c.hasInput() {
		return
	}
	if !c.proven {
		c.proven = true
		return
	}
	watched := c.watched
	if watched {
		l.unwatch(c)
	}
	c.authenticated = true
	if watched {
		l.register(c)
	}
}
