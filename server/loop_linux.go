package server

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A loop serves connections on one goroutine: it waits until some are ready, reads and
// executes them in turn, commits, and writes the replies of all. Only its own goroutine
// uses its connections; other goroutines submit tasks.
type loop struct {
	env            *env
	traffic        *traffic
	poll           poller
	conns          []*loopConn // by descriptor
	work           *workspace
	pendingWrites  []*loopConn // connections with output to write at the end of the wake-up
	runQueue       []*loopConn // connections to be served later, in order
	spareQueue     []*loopConn // memory for the next runQueue
	listeners      []*loopListener
	readyListeners []int     // descriptors of listeners with connections
	lightWakeUps   int       // number of further wake-ups that assume a light client, see lightWindow
	uncommitted    bool      // something was executed since the last commit
	unflushedNanos int64     // time of the turns since the last flush
	newWaitSince   time.Time // when the last wake-up left new clients to the next; zero: it left no new clients
	draining       bool
	stopped        bool
	running        []task // tasks being run
	ciphertext     []byte // as received over TLS, and as to be sent
	sealed         []byte

	load  atomic.Int64 // connections, including those being added
	mu    sync.Mutex
	tasks []task
	ended bool
}

// A loopConn is a connection of a loop.
type loopConn struct {
	conn
	fd            int
	secured       *tlsLayer // nil: no TLS
	events        uint32    // registered with the poller
	writePending  bool      // is in loop.pendingWrites
	queued        bool      // is in loop.runQueue
	reported      bool      // queued because the poller reported it; otherwise because commands were left over
	inFlight      bool      // a batch is in flight
	watched       bool      // the poller watches the connection
	closePending  bool      // to be closed when the batch comes back
	inputEnded    bool      // the client sends nothing more
	closed        bool
	fullRead      bool // the last read filled its buffer
	proven        bool // has sent a complete command, while authenticated if that is required
	authenticated bool // has done so twice
	overdue       bool // to be closed by serveQueued if there still is a reason
	backlog       backlog
	countedUnsent int // bytes of the backlog that are counted in env.room
	// deadlineBytes are the bytes of the backlog that must be written within the write
	// timeout, counted from conn.blocked.
	deadlineBytes int
}

// A task is a call to run on the loop's goroutine, about a connection or about all.
type task struct {
	c   *loopConn
	run func(*loop, *loopConn)
}

func newLoop(e *env, traffic *traffic) (*loop, error) {
	l := &loop{env: e, traffic: traffic, work: newWorkspace()}
	return l, l.poll.open()
}

// submit queues a task. Concurrency: any goroutine, also after the loop has ended.
func (l *loop) submit(t task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tasks = append(l.tasks, t)
	if len(l.tasks) == 1 && !l.ended {
		l.poll.wake()
	}
}

// run serves until the loop is stopped, or drains and has no connection left.
func (l *loop) run() {
	for !l.stopped && !(l.draining && l.load.Load() == 0) {
		l.lightWakeUps--
		ready, blocked := l.poll.wait(len(l.runQueue) == 0)
		if blocked { // nobody was left
			l.newWaitSince = time.Time{}
		}
		hasTasks := l.serveReady(ready)
		l.serveQueued()
		if hasTasks {
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

// serveReady serves the connections that are ready, and reports whether tasks wait. Heavy
// connections are queued. Any number of new clients may be ready. They are served after all
// other clients have their replies.
func (l *loop) serveReady(ready []syscall.EpollEvent) (hasTasks bool) {
	unauth := false
	for _, e := range ready {
		fd := int(e.Fd)
		switch fd {
		case l.poll.wakeFD():
			hasTasks = true
			continue
		case int(l.poll.unauth):
			unauth = true
			continue
		}
		switch c := l.conns[fd]; {
		case c == nil:
			l.readyListeners = append(l.readyListeners, fd) // or a connection closed meanwhile
		case c.inFlight:
			l.unwatch(c)
		case !l.draining && c.heavyUntil != 0:
			l.deferHeavy(c)
		default:
			l.serve(c)
		}
	}
	switch {
	case unauth || len(l.readyListeners) > 0:
		l.flush()
		l.serveNew(unauth)
	case len(ready) < maxEvents: // otherwise new clients may be ready and not reported
		l.newWaitSince = time.Time{}
	}
	return hasTasks
}

// runTasks runs the submitted tasks. Connections are added here and by acceptReady only, so
// an event never belongs to a new connection that reuses a descriptor.
func (l *loop) runTasks() {
	l.poll.drainWake()
	l.mu.Lock()
	l.running, l.tasks = l.tasks, l.running[:0]
	l.mu.Unlock()
	for _, t := range l.running {
		t.run(l, t.c)
	}
	clear(l.running)
}

// add begins to serve a connection.
func (l *loop) add(c *loopConn) {
	if c.closed {
		return
	}
	l.grow(c.fd)
	l.conns[c.fd] = c
	if l.register(c) && (l.draining || c.secured != nil) { // TLS may have received a command already
		l.serve(c)
	}
}

// grow makes room for a descriptor in l.conns.
func (l *loop) grow(fd int) {
	if fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*loopConn, fd+1-len(l.conns))...)
	}
}

// pollOf returns the part of the poller that watches the connection.
func (l *loop) pollOf(c *loopConn) epoll {
	if c.authenticated {
		return l.poll.main
	}
	return l.poll.unauth
}

// register adds the connection to the poller, with the events of interest.
func (l *loop) register(c *loopConn) bool {
	c.events = l.interest(c)
	if err := l.pollOf(c).add(c.fd, c.events); err != nil {
		l.env.log.Error("connection closed", "client", c.client, "why", "epoll registration failed", "error", err)
		l.drop(c)
		return false
	}
	c.watched = true
	return true
}

// unwatch removes a connection from the poller. A connection with a batch in flight is
// removed when it is reported, because a client that waits for its replies sends nothing
// meanwhile.
func (l *loop) unwatch(c *loopConn) {
	c.watched = false
	l.pollOf(c).remove(c.fd)
}

// resume continues a connection after its batch has come back, or a message has arrived.
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
	c.active.Store(l.env.clock.Load()) // it may have waited for long
	if c.closePending {
		l.close(c)
		return
	}
	if !c.watched && !l.register(c) {
		return
	}
	back := c.inFlight
	if back {
		c.weigh(l.env.clock.Load(), len(*c.session.Output()), wantWake)
	}
	more := back && c.hasInput()
	c.inFlight, l.uncommitted = false, true
	l.updateInterest(c)
	if blocked || more {
		l.queueWrite(c)
		l.flush()
	}
	switch {
	case l.writable(c) && more && c.heavyUntil != 0 && !l.draining:
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

// kill closes a connection. A connection with a batch in flight is closed when the batch
// comes back, because the batch still uses its buffers.
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

// sweep queues the connections that are overdue. A hundred of them are not closed at once,
// because the kernel frees megabytes of unsent replies with each.
func (l *loop) sweep(*loopConn) {
	for _, c := range l.conns {
		if c == nil || c.inFlight {
			continue
		}
		why, _ := l.env.closeReason(&c.conn)
		if why == "" || why == whyIdle && c.queued { // a queued connection has commands to execute
			continue
		}
		c.overdue = true
		l.enqueue(c)
	}
}

// closeOverdue closes a connection that sweep has queued, unless the reason is gone, and
// reports whether it did.
func (l *loop) closeOverdue(c *loopConn) bool {
	c.overdue = false
	if !l.env.mustClose(&c.conn) {
		return false
	}
	l.close(c)
	return true
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
