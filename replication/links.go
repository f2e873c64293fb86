package replication

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/certs"
	"limitsrv/engine"
)

// linkOptions configure links. Concurrency: all functions may be called by any goroutine.
type linkOptions struct {
	listener net.Listener
	dial     func(ctx context.Context, address string) (net.Conn, error)
	address  string       // at which other nodes reach this one
	tls      *certs.Files // nil: without TLS
	secrets  *Secrets     // nil: none
	// identity returns this node's current identity.
	identity func() identity
	// call answers a call. Its context ends when the caller hangs up.
	call func(ctx context.Context, from greeting, name string, body json.RawMessage) (any, error)
	// exec executes a batch forwarded by another node. It must not block for long. It must
	// call done once, from any goroutine, and not touch the batch after that.
	exec func(batch *engine.Batch, done func(error))
	// commit follows the execs of all batches read at once.
	commit func()
	// lost is called when another node's raft link has ended. It must not block.
	lost func(node string)
	log  *slog.Logger
	// timeout bounds a greeting, a dial, and a peer's reading of an answer.
	timeout time.Duration
	// answerTimeout bounds the current leader's answers to forwarded requests: longer than
	// its disk may take.
	answerTimeout time.Duration
}

// Bounds of this node's resources used by other nodes.
const (
	// maxGreeting bounds the connections that have not greeted yet; beyond it the oldest
	// connection of the host with the most is closed.
	maxGreeting = 64
	// maxAccepted bounds all accepted connections.
	maxAccepted = 512
	// maxAcceptPause bounds the pause after Accept fails.
	maxAcceptPause = time.Second
	// secretGrace is the time for which a link may continue when its secret is no longer
	// accepted.
	secretGrace = 5 * time.Second
)

// links are the connections with other nodes: one port for raft, for requests forwarded to
// the leader, and for calls. Each connection begins with a greeting that names its kind
// and both nodes.
type links struct {
	o            linkOptions
	certificates *certificates // nil: without TLS
	refusals     refusals
	refusedLinks atomic.Int64
	raftConns    chan net.Conn // accepted, for raft's transport

	closing context.Context
	cancel  context.CancelFunc
	wait    sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	open     map[*linkConn]struct{}
	accepted int
	greeting []*linkConn // accepted and yet to greet, the oldest first
}

// newLinks fails if the TLS files can not be read. The caller must close the links.
func newLinks(o linkOptions) (*links, error) {
	l := &links{o: o, raftConns: make(chan net.Conn), open: make(map[*linkConn]struct{})}
	if o.tls != nil {
		c, err := newCertificates(*o.tls, o.log)
		if err != nil {
			return nil, err
		}
		l.certificates = c
	}
	l.closing, l.cancel = context.WithCancel(context.Background())
	return l, nil
}

// serve accepts connections until close.
func (l *links) serve() {
	if !l.beginGoroutine() {
		return
	}
	defer l.wait.Done()
	pause := time.Duration(0)
	for {
		conn, err := l.o.listener.Accept()
		switch {
		case err == nil:
			pause = 0
			l.accept(conn)
			continue
		case l.closing.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		}
		pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
		l.o.log.Error("can't accept a link of another node", "error", err, "pause", pause)
		select {
		case <-l.closing.Done():
			return
		case <-time.After(pause):
		}
	}
}

// close ends all links and returns when all their goroutines have ended. Answers of execs
// may still come later.
func (l *links) close() error {
	l.mu.Lock()
	l.closed = true
	open := l.open
	l.open = nil
	l.mu.Unlock()
	l.cancel()
	err := l.o.listener.Close()
	for conn := range open {
		conn.Conn.Close()
	}
	l.wait.Wait()
	return err
}

// beginGoroutine counts a goroutine that close waits for, unless links are closed.
func (l *links) beginGoroutine() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wait.Add(1)
	return true
}

// accept serves an accepted connection in a goroutine of its own.
func (l *links) accept(raw net.Conn) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		raw.Close()
		return
	}
	if l.accepted >= maxAccepted {
		l.mu.Unlock()
		l.refused(raw, &refusal{reasonBusy, fmt.Sprintf("this node already has %d links, the maximum", maxAccepted)})
		raw.Close()
		return
	}
	conn := l.track(raw, true)
	l.accepted++
	var oldest *linkConn
	if len(l.greeting) == maxGreeting {
		i := oldestOfBusiest(l.greeting)
		oldest = l.greeting[i]
		l.greeting = slices.Delete(l.greeting, i, i+1)
	}
	l.greeting = append(l.greeting, conn)
	l.wait.Add(1)
	l.mu.Unlock()
	if oldest != nil {
		oldest.Close()
	}
	go func() {
		defer l.wait.Done()
		l.serveLink(conn)
	}()
}

// oldestOfBusiest returns the index of the oldest connection of the host with the most.
func oldestOfBusiest(conns []*linkConn) (oldest int) {
	first, count := make(map[string]int), make(map[string]int)
	for i, c := range conns {
		host := remoteHost(c)
		if count[host]++; count[host] == 1 {
			first[host] = i
		}
	}
	most := 0
	for host, n := range count {
		if n > most || n == most && first[host] < oldest {
			most, oldest = n, first[host]
		}
	}
	return oldest
}

// serveLink admits the node that has connected and serves the link until it ends.
func (l *links) serveLink(conn *linkConn) {
	secured, from, err := l.admit(conn)
	l.mu.Lock()
	if i := slices.Index(l.greeting, conn); i >= 0 {
		l.greeting = slices.Delete(l.greeting, i, i+1)
	}
	l.mu.Unlock()
	if err != nil {
		conn.Close()
		return
	}
	if from.kind == linkRaft {
		l.offer(&raftConn{secured, func() { l.o.lost(from.Node) }})
		return
	}
	defer secured.Close()
	if from.kind == linkCall {
		l.answerCall(secured, from)
		return
	}
	l.serveForwarded(secured)
}

// track registers a connection for close. Requires: mu is held, and links are open.
func (l *links) track(raw net.Conn, accepted bool) *linkConn {
	if tcp, ok := raw.(*net.TCPConn); ok {
		// If these fail, the connection has failed, and its next use reports that.
		tcp.SetNoDelay(true)
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3})
	}
	conn := &linkConn{Conn: raw, links: l, accepted: accepted}
	l.open[conn] = struct{}{}
	return conn
}

// dial makes a link to the node at an address and exchanges greetings. expected is its id,
// or empty if any is accepted.
func (l *links) dial(ctx context.Context, kind linkKind, address, expected string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.timeout)
	defer cancel()
	defer context.AfterFunc(l.closing, cancel)()
	raw, err := l.o.dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to node at %s: %w", address, err)
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		raw.Close()
		return nil, net.ErrClosed
	}
	conn := l.track(raw, false)
	l.mu.Unlock()
	secured, err := l.greet(ctx, conn, address, greeting{kind, l.o.identity(), expected, l.o.address})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("greet node at %s: %w", address, err)
	}
	return secured, nil
}

// A linkConn is a connection that links track until it is closed.
type linkConn struct {
	net.Conn
	links    *links
	accepted bool
	// greeted: secret is set. stale is the time since which that secret is not accepted;
	// zero: it is. The mutex of links guards them.
	greeted bool
	secret  secret
	stale   time.Time
}

// recordSecret records the secret with which a link is made.
func (l *links) recordSecret(conn *linkConn, s secret) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn.greeted, conn.secret = true, s
}

// closeStale closes links when their secret has not been accepted for secretGrace. It must
// be called periodically.
func (l *links) closeStale(now time.Time) {
	if l.o.secrets == nil {
		return
	}
	secrets := l.o.secrets.current()
	var over []*linkConn
	l.mu.Lock()
	for conn := range l.open {
		switch {
		case !conn.greeted:
		case slices.Contains(secrets, conn.secret):
			conn.stale = time.Time{}
		case conn.stale.IsZero():
			conn.stale = now
		case now.Sub(conn.stale) >= secretGrace:
			over = append(over, conn)
		}
	}
	l.mu.Unlock()
	for _, conn := range over {
		conn.Close()
	}
	if len(over) > 0 {
		l.o.log.Info("links made with a former cluster secret were closed", "links", len(over))
	}
}

func (c *linkConn) Close() error {
	l := c.links
	l.mu.Lock()
	if _, ok := l.open[c]; ok {
		delete(l.open, c)
		if c.accepted {
			l.accepted--
		}
	}
	l.mu.Unlock()
	return c.Conn.Close()
}

// A securedConn is TLS over a link. Close sends no close_notify, which would block on a
// peer that does not read: all messages on links carry their own lengths.
type securedConn struct {
	*tls.Conn
	under *linkConn
}

func (c securedConn) Close() error { return c.under.Close() }
