package server

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/commands/resp"
)

// counterShards is the number of traffic counters that the goroutines share, to keep
// contention low.
const counterShards = 8

// ownOutput is the size of the output buffer that a connection keeps for good.
const ownOutput = 16 << 10

// Sizes of the input buffer, a record, and of the room for arguments that are lent to a
// connection over TLS.
const (
	tlsInputBytes = 16 << 10
	tlsArgs       = 512
)

// longPast is a deadline that makes Read return at once.
var longPast = time.Unix(0, 1)

// goroutines is the transport with a goroutine for each connection. It works on any
// system and over any net.Conn.
type goroutines struct {
	acceptor
	env      *env
	traffic  []traffic
	inputs   sync.Pool // of *resp.Pool
	gate     gate
	heavies  atomic.Int64 // connections that are heavy
	worked   atomic.Int64 // nanoseconds of turns that the gate admitted since the last pause
	draining atomic.Bool
	stopped  chan struct{} // closed by stop
	stopOnce sync.Once
	finished chan struct{} // closed once draining and without connections

	mu    sync.Mutex
	conns map[*goConn]struct{}
	next  int // counter shard of the next connection
}

// A goConn is a connection with a goroutine of its own.
type goConn struct {
	conn
	nc     net.Conn // the socket, or TLS over it
	socket *socket
	input  *resp.Pool    // its reader borrows from it; nil: it borrows nothing; over TLS only
	woken  chan struct{} // capacity 1
	// admitted is for the gate, which new and heavy connections pass.
	admitted chan struct{}
	heavy    bool // counted by heavies
	// reading is set while the goroutine waits for bytes, or is about to. A wake-up must
	// then interrupt the read.
	reading atomic.Bool
	// overdue is set to have the goroutine end the connection if there still is a reason.
	overdue atomic.Bool
}

func newGoroutines(e *env) *goroutines {
	g := &goroutines{
		env: e, traffic: e.newTraffic(counterShards), stopped: make(chan struct{}), finished: make(chan struct{}),
		inputs: sync.Pool{New: func() any { return resp.NewPool(tlsInputBytes, tlsArgs) }}, conns: map[*goConn]struct{}{},
		gate: gate{free: max(1, runtime.GOMAXPROCS(0)/2)},
	}
	g.acceptor = acceptor{env: e, admit: g.admitPlain}
	return g
}

// admitPlain serves a connection without TLS, unless there are MaxClients.
func (g *goroutines) admitPlain(nc net.Conn) error {
	g.env.connections.Add(1)
	if g.env.admitConn(nc) {
		s := &socket{Conn: nc}
		g.start(s, s)
	}
	return nil
}

func (g *goroutines) serveTLS(h *handshake) { g.start(h.tls, h.socket) }

// start begins to serve nc, which is a socket or TLS over it.
func (g *goroutines) start(nc net.Conn, s *socket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	c := &goConn{nc: nc, socket: s, woken: make(chan struct{}, 1), admitted: make(chan struct{}, 1)}
	c.gauges.fd = descriptor(s.Conn)
	wake := func() {
		select {
		case c.woken <- struct{}{}:
		default:
		}
		if c.reading.Load() && !g.draining.Load() { // while draining, the reader returns within drainRead
			_ = s.SetReadDeadline(longPast)
		}
	}
	client, local := clientAddr(nc.RemoteAddr(), nc.LocalAddr()), clientAddr(nc.LocalAddr(), nc.LocalAddr())
	err := g.env.initConn(&c.conn, client, local, &g.traffic[g.next%counterShards], wake, func() { s.Close() })
	if err != nil {
		s.Close()
		g.env.clients.Add(-1)
		return
	}
	g.conns[c] = struct{}{}
	go g.run(c)
}

// run serves a connection until it ends.
func (g *goroutines) run(c *goConn) {
	defer g.remove(c)
	defer g.env.recoverPanic()
	for {
		next := g.advance(c)
		g.env.commit()
		if next == wantWake {
			if !g.awaitBatch(c) {
				return
			}
			continue
		}
		if next == wantInput {
			g.releaseBuffers(c)
		}
		if err := g.write(c); err != nil || next == wantClose {
			return
		}
		if next == wantInput && g.read(c) != nil {
			return
		}
	}
}

// releaseBuffers returns or drops the memory that a connection needs only while it has
// work.
func (g *goroutines) releaseBuffers(c *goConn) {
	defer c.recordSizes()
	if c.input != nil {
		c.in.Release(c.input)
		g.inputs.Put(c.input)
		c.input = nil
		return
	}
	c.in.Compact()
}

// awaitBatch blocks until the batch in flight has come back. It returns false if the
// server stops.
func (g *goroutines) awaitBatch(c *goConn) bool {
	for {
		select {
		case <-c.woken:
			if c.session.Resume() {
				return true
			}
		case <-g.stopped:
			return false
		}
	}
}

// remove closes the connection and drops it from the transport.
func (g *goroutines) remove(c *goConn) {
	c.nc.Close()
	g.countHeavy(c, false)
	g.env.closeSession(&c.conn)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
	if len(g.conns) == 0 && g.draining.Load() {
		close(g.finished)
	}
}

// write writes all output. The sweep closes the connection if that takes too long.
func (g *goroutines) write(c *goConn) error {
	out := c.session.Output()
	if len(*out) == 0 {
		return nil
	}
	held := int64(len(*out))
	g.env.room.Add(held)
	defer g.env.room.Add(-held)
	c.gauges.recordOutput(len(*out))
	c.gauges.writing.Store(int32(len(*out)))
	c.blocked.Store(g.env.clock.Load())
	n, err := c.nc.Write(*out)
	c.blocked.Store(0)
	c.gauges.writing.Store(0)
	c.traffic.out.Add(int64(n))
	*out = (*out)[:0]
	if cap(*out) > ownOutput {
		*out = nil
	}
	storeIfChanged(&c.gauges.reply, cap(*out))
	return err
}

// read blocks until bytes arrive or the connection is woken. Interrupted by drain, it
// takes the bytes already received.
func (g *goroutines) read(c *goConn) error {
	c.active.Store(g.env.clock.Load())
	return g.await(c)
}

// await is read of a client that may be idle already.
func (g *goroutines) await(c *goConn) error {
	c.reading.Store(true)
	defer c.reading.Store(false)
	for {
		select {
		case <-c.woken: // it may have been sent before reading was set
			g.borrow(c) // for commands after a command that has waited
			c.session.Resume()
			return nil
		default:
		}
		n, err := g.receive(c)
		if n > 0 {
			c.traffic.in.Add(int64(n))
			if c.isAhead() {
				return errAhead
			}
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		_ = c.socket.SetReadDeadline(time.Time{}) // drain sets draining before the deadline that ends Read
		if c.overdue.Swap(false) && g.env.mustClose(&c.conn) {
			return errIdle
		}
		if g.draining.Load() && c.socket.drainUntil.IsZero() {
			c.socket.startDrain()
		}
	}
}

// borrow lends a connection over TLS an input buffer, if it has no buffer.
func (g *goroutines) borrow(c *goConn) {
	if c.nc != c.socket && c.input == nil {
		c.input = g.inputs.Get().(*resp.Pool)
		c.in.Borrow(c.input)
	}
}

// receive reads once. A connection over TLS waits with a small buffer of its own. If that
// is full it reads again into a borrowed buffer, limited to bytes that TLS has already,
// so the second read does not block.
func (g *goroutines) receive(c *goConn) (int, error) {
	if c.nc == c.socket {
		n, err := c.nc.Read(c.in.Space())
		c.in.Filled(n)
		return n, err
	}
	room := c.in.OwnSpace()
	n, err := c.nc.Read(room)
	c.in.OwnFilled(n)
	if n == 0 {
		return 0, err
	}
	g.borrow(c)
	if n == len(room) {
		c.socket.bufferedOnly = true
		defer func() { c.socket.bufferedOnly = false }()
		more, _ := c.nc.Read(c.in.Space())
		c.in.Filled(more)
		n += more
	}
	return n, err
}

// errIdle is the reason for closing a connection that isIdle.
var errIdle = errors.New(whyIdle)

// sweep closes the connections with clients that have taken no output for too long, and
// interrupts the connections that have waited for bytes for too long. All other connections
// execute commands, or have a batch in flight.
func (g *goroutines) sweep() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if !c.reading.Load() && c.blocked.Load() == 0 {
			continue
		}
		if why, _ := g.env.closeReason(&c.conn); why == whyIdle {
			c.overdue.Store(true)
			_ = c.socket.SetReadDeadline(longPast)
		} else if g.env.mustClose(&c.conn) {
			c.socket.Close()
		}
	}
}

func (g *goroutines) drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.draining.Store(true)
	for c := range g.conns {
		_ = c.socket.SetReadDeadline(longPast)
	}
	if len(g.conns) == 0 {
		close(g.finished)
	}
}

func (g *goroutines) stop() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopOnce.Do(func() { close(g.stopped) })
	for c := range g.conns {
		c.socket.Close()
	}
	return len(g.conns)
}

func (g *goroutines) done() <-chan struct{} { return g.finished }
