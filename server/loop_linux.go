package server

import (
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A loop carries connections on one thread: it waits until some are ready, reads
// and executes one after the other, commits, and writes the replies of all. Its own
// goroutine alone touches its connections; others send it mail.
type loop struct {
	s        *Server
	traffic  *traffic
	poll     poller
	conns    []*loopConn // by descriptor
	work     *workspace
	due      []*loopConn // whose output waits for the end of the wake-up
	more     []*loopConn // that wait for a turn, the first in line first
	turns    []*loopConn // the same as of the last takeTurns
	lobby    []*loopConn // of strangers that are ready
	modest   int         // wake-ups for which it is known that a client asks for little
	executed bool        // something was, since the last commit
	draining bool
	stopped  bool
	taken    []mail // being read

	load  atomic.Int64 // connections, with those that are on their way
	mu    sync.Mutex
	inbox []mail
	ended bool
}

// A loopConn is a connection of a loop.
type loopConn struct {
	conn
	fd     int
	events uint32 // that the poller watches
	due    bool   // is in loop.due
	yields bool   // is in loop.more
	ready  bool   // and is so because the poller reported it, not because of a batch that left some over
	away   bool   // a batch is; the poller does not watch it
	killed bool   // while away
	ended  bool   // the client sends nothing more
	closed bool
	greedy bool // its last read left no room over
	known  bool // it has been logged in, if it must, and has sent a whole command
	ahead  bool // it has executed while output waited
	// heavyUntil is until when, by Server.clock, it has to wait for its turn; 0: never.
	heavyUntil int64
	queue      backlog
	waits      int // bytes of the queue, as the server knows
	// overdueBytes are those of them that were there at conn.blocked.
	overdueBytes int
}

// A mail is what others ask of a loop, about a connection or all.
type mail struct {
	c    *loopConn
	what func(*loop, *loopConn)
}

func newLoop(s *Server, traffic *traffic) (*loop, error) {
	l := &loop{s: s, traffic: traffic, work: newWorkspace()}
	return l, l.poll.open()
}

// post may be called from any goroutine, also when the loop has ended.
func (l *loop) post(m mail) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inbox = append(l.inbox, m)
	if len(l.inbox) == 1 && !l.ended {
		l.poll.wake()
	}
}

// run is the life of the loop: until it is stopped, or drains and has no
// connection left.
func (l *loop) run() {
	runtime.LockOSThread()
	for !l.stopped && !(l.draining && l.load.Load() == 0) {
		l.modest--
		mail := l.serveReady(l.poll.wait(len(l.more) == 0))
		l.takeTurns()
		if mail {
			l.readMail()
		}
		l.flush()
	}
	for _, c := range l.conns {
		if c != nil {
			l.drop(c)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.poll.close()
}

// strangersAtOnce is how many unauthenticated connections are served at a wake-up: a
// tenth of a millisecond, about, and turnTime at most.
const strangersAtOnce = 8

// serveReady serves the connections that are ready, and reports whether there is mail.
// Heavy ones wait for their turn. New ones, of which there may be any number at once, are
// served when all others have their replies, and then only a few: the poller reports the
// rest again.
func (l *loop) serveReady(ready []syscall.EpollEvent) (mail bool) {
	for _, e := range ready {
		fd := int(e.Fd)
		if fd == l.poll.bell() {
			mail = true
			continue
		}
		switch c := l.conns[fd]; {
		case c == nil:
		case l.draining:
			l.serve(c)
		case c.known && l.isHeavy(c):
			l.awaitTurn(c)
		case c.known:
			l.serve(c)
		case len(l.lobby) < strangersAtOnce:
			l.lobby = append(l.lobby, c)
		}
	}
	if len(l.lobby) == 0 {
		return mail
	}
	l.flush()
	began := time.Now()
	for i, c := range l.lobby {
		if i > 0 && time.Since(began) >= turnTime {
			break
		}
		if !c.closed {
			l.serve(c)
		}
		c.known = !c.closed && c.session.Authenticated() && !c.unread()
	}
	clear(l.lobby)
	l.lobby = l.lobby[:0]
	return mail
}

// readMail does what is asked. No connection joins at another time, so that an
// event is never for the wrong one.
func (l *loop) readMail() {
	l.poll.hush()
	l.mu.Lock()
	l.taken, l.inbox = l.inbox, l.taken[:0]
	l.mu.Unlock()
	for _, m := range l.taken {
		m.what(l, m.c)
	}
	clear(l.taken)
}

// add begins to carry a connection.
func (l *loop) add(c *loopConn) {
	if c.closed {
		return
	}
	if c.fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*loopConn, c.fd+1-len(l.conns))...)
	}
	l.conns[c.fd] = c
	if !l.watch(c) || !l.draining {
		return
	}
	l.serve(c)
}

// watch has the poller tell when the connection can be read, or written.
func (l *loop) watch(c *loopConn) bool {
	c.events = l.wanted(c)
	if err := l.poll.add(c.fd, c.events); err != nil {
		l.s.log.Error("connection closed", "client", c.client, "why", "cannot be watched", "err", err)
		l.drop(c)
		return false
	}
	return true
}

// wakeUp goes on with a connection whose batch has come back, or to which others
// have sent something.
func (l *loop) wakeUp(c *loopConn) {
	if c.due {
		l.flush()
	}
	if c.closed {
		return
	}
	defer l.rescue(c)
	blocked := c.blocked.Load() != 0
	l.borrow(c)
	if !c.session.Resume() {
		c.keep(l.work)
		return
	}
	if c.killed {
		l.close(c)
		return
	}
	if c.away && !l.watch(c) {
		return
	}
	back := c.away
	more := back && c.unread()
	c.away, l.executed = false, true
	if blocked || more {
		l.owe(c)
		l.flush()
	}
	switch {
	case l.open(c) && more && l.isHeavy(c) && !l.draining:
		l.yield(c)
	case l.open(c):
		if l.advance(c) && l.draining {
			l.serve(c)
		}
	case back && l.goesOn(c):
		l.yield(c)
	case !back:
		l.giveBack(c)
	}
}

// kill closes a connection. While a batch is away its bytes belong to others, so
// it then waits for that.
func (l *loop) kill(c *loopConn) {
	if c.due {
		l.flush()
	}
	switch {
	case c.closed:
	case c.away:
		c.killed = true
	default:
		l.close(c)
	}
}

func (l *loop) sweep(*loopConn) {
	l.flush()
	for _, c := range l.conns {
		if c == nil || c.away {
			continue
		}
		if why := c.overdue(l.s); why != "" {
			l.s.log.Info("connection closed", "client", c.client, "why", why)
			l.close(c)
		}
	}
}

func (l *loop) drain(*loopConn) {
	l.flush()
	l.draining = true
	for _, c := range l.conns {
		if c != nil && !c.away {
			l.serve(c)
		}
	}
}

func (l *loop) stop(*loopConn) { l.stopped = true }
