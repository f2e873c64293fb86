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
	s             *Server
	traffic       *traffic
	poll          poller
	conns         []*loopConn // by descriptor
	work          *workspace
	pendingWrites []*loopConn // whose output waits for the end of the wake-up
	runQueue      []*loopConn // that wait for a turn, the first in line first
	spareQueue    []*loopConn // the same as of the last takeTurns
	unauthQueue   []*loopConn // of strangers that are ready
	lightWakeUps  int         // wake-ups for which it is known that a client asks for little
	uncommitted   bool        // something was, since the last commit
	draining      bool
	stopped       bool
	running       []task // being read

	load  atomic.Int64 // connections, with those that are on their way
	mu    sync.Mutex
	tasks []task
	ended bool
}

// A loopConn is a connection of a loop.
type loopConn struct {
	conn
	fd            int
	events        uint32 // that the poller watches
	writePending  bool   // is in loop.due
	queued        bool   // is in loop.more
	readable      bool   // and is so because the poller reported it, not because of a batch that left some over
	inFlight      bool   // a batch is; the poller does not watch it
	closePending  bool   // while away
	inputEnded    bool   // the client sends nothing more
	closed        bool
	fullRead      bool // its last read left no room over
	authenticated bool // it has been logged in, if it must, and has sent a whole command
	executedAhead bool // it has executed while output waited
	// heavyUntil is until when, by Server.clock, it has to wait for its turn; 0: never.
	heavyUntil    int64
	backlog       backlog
	countedUnsent int // bytes of the queue, as the server knows
	// overdueBytes are those of them that were there at conn.blocked.
	deadlineBytes int
}

// A mail is what others ask of a loop, about a connection or all.
type task struct {
	c   *loopConn
	run func(*loop, *loopConn)
}

func newLoop(s *Server, traffic *traffic) (*loop, error) {
	l := &loop{s: s, traffic: traffic, work: newWorkspace()}
	return l, l.poll.open()
}

// post may be called from any goroutine, also when the loop has ended.
func (l *loop) submit(m task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = append(l.tasks, m)
	if len(l.tasks) == 1 && !l.ended {
		l.poll.wake()
	}
}

// run is the life of the loop: until it is stopped, or drains and has no
// connection left.
func (l *loop) run() {
	runtime.LockOSThread()
	for !l.stopped && !(l.draining && l.load.Load() == 0) {
		l.lightWakeUps--
		mail := l.serveReady(l.poll.wait(len(l.runQueue) == 0))
		l.serveQueued()
		if mail {
			l.runTasks()
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
const maxUnauthPerWakeUp = 8

// serveReady serves the connections that are ready, and reports whether there is mail.
// Heavy ones wait for their turn. New ones, of which there may be any number at once, are
// served when all others have their replies, and then only a few: the poller reports the
// rest again.
func (l *loop) serveReady(ready []syscall.EpollEvent) (mail bool) {
	for _, e := range ready {
		fd := int(e.Fd)
		if fd == l.poll.wakeFD() {
			mail = true
			continue
		}
		switch c := l.conns[fd]; {
		case c == nil:
		case l.draining:
			l.serve(c)
		case c.authenticated && l.isHeavy(c):
			l.deferHeavy(c)
		case c.authenticated:
			l.serve(c)
		case len(l.unauthQueue) < maxUnauthPerWakeUp:
			l.unauthQueue = append(l.unauthQueue, c)
		}
	}
	if len(l.unauthQueue) == 0 {
		return mail
	}
	l.flush()
	began := time.Now()
	for i, c := range l.unauthQueue {
		if i > 0 && time.Since(began) >= timeSlice {
			break
		}
		if !c.closed {
			l.serve(c)
		}
		c.authenticated = !c.closed && c.session.Authenticated() && !c.hasInput()
	}
	clear(l.unauthQueue)
	l.unauthQueue = l.unauthQueue[:0]
	return mail
}

// readMail does what is asked. No connection joins at another time, so that an
// event is never for the wrong one.
func (l *loop) runTasks() {
	l.poll.drainWake()
	l.mu.Lock()
	l.running, l.tasks = l.tasks, l.running[:0]
	l.mu.Unlock()
	for _, m := range l.running {
		m.run(l, m.c)
	}
	clear(l.running)
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
	if !l.register(c) || !l.draining {
		return
	}
	l.serve(c)
}

// watch has the poller tell when the connection can be read, or written.
func (l *loop) register(c *loopConn) bool {
	c.events = l.interest(c)
	if err := l.poll.add(c.fd, c.events); err != nil {
		l.s.log.Error("connection closed", "client", c.client, "why", "cannot be watched", "err", err)
		l.drop(c)
		return false
	}
	return true
}

// wakeUp goes on with a connection whose batch has come back, or to which others
// have sent something.
func (l *loop) resume(c *loopConn) {
	if c.writePending {
		l.flush()
	}
	if c.closed {
		return
	}
	defer l.recoverPanic(c)
	blocked := c.blocked.Load() != 0
	l.borrow(c)
	if !c.session.Resume() {
		c.retain(l.work)
		return
	}
	if c.closePending {
		l.close(c)
		return
	}
	if c.inFlight && !l.register(c) {
		return
	}
	back := c.inFlight
	more := back && c.hasInput()
	c.inFlight, l.uncommitted = false, true
	if blocked || more {
		l.queueWrite(c)
		l.flush()
	}
	switch {
	case l.writable(c) && more && l.isHeavy(c) && !l.draining:
		l.yield(c)
	case l.writable(c):
		if l.advance(c) && l.draining {
			l.serve(c)
		}
	case back && l.mayExecute(c):
		l.yield(c)
	case !back:
		l.releaseBuffers(c)
	}
}

// kill closes a connection. While a batch is away its bytes belong to others, so
// it then waits for that.
func (l *loop) kill(c *loopConn) {
	if c.writePending {
		l.flush()
	}
	switch {
	case c.closed:
	case c.inFlight:
		c.closePending = true
	default:
		l.close(c)
	}
}

func (l *loop) sweep(*loopConn) {
	l.flush()
	for _, c := range l.conns {
		if c == nil || c.inFlight {
			continue
		}
		if why := c.closeReason(l.s); why != "" {
			l.s.log.Info("connection closed", "client", c.client, "why", why)
			l.close(c)
		}
	}
}

func (l *loop) drain(*loopConn) {
	l.flush()
	l.draining = true
	for _, c := range l.conns {
		if c != nil && !c.inFlight {
			l.serve(c)
		}
	}
}

func (l *loop) stop(*loopConn) { l.stopped = true }
