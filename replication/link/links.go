package link

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

	"limitsrv/internal/certs"
	"limitsrv/internal/loglimit"
)

// Options configure Links. Concurrency: all functions may be called by any goroutine.
type Options struct {
	Listener net.Listener // nil: no node dials this node, and Serve must not be called
	Dial     func(ctx context.Context, address string) (net.Conn, error)
	Address  string       // for other nodes to reach this node
	TLS      *certs.Files // nil: without TLS
	Secrets  *Secrets     // nil: no secrets
	// Identity returns this node's current identity.
	Identity func() Identity
	// Call answers a call. Its context ends when the caller hangs up.
	Call func(ctx context.Context, from Peer, name string, body json.RawMessage) (any, error)
	// Forwarded serves a link for forwarded batches until it ends. The links close conn
	// after it. It returns the reason, which is logged if it is an error of Garbled or
	// of a FrameReader.
	Forwarded func(conn net.Conn) error
	// Messages serves a link for messages until it ends; then the links close conn. The error is
	// logged like an error of Forwarded.
	Messages func(conn net.Conn, from Peer) error
	// Lost is called when another node's raft link has ended. It must not block.
	Lost func(node string)
	Log  *slog.Logger
	// Timeout bounds a greeting, a dial, and a peer's reading of an answer.
	Timeout time.Duration
}

// Bounds of this node's resources used by other nodes.
const (
	// maxGreeting bounds the connections that have not greeted yet; beyond it the oldest
	// connection of the host with the most is closed.
	maxGreeting = 64
	// maxAccepted bounds all accepted connections.
	maxAccepted = 4096
	// maxAcceptPause bounds the pause after Accept fails.
	maxAcceptPause = time.Second
	// secretGrace is the time that a link may continue after its secret is no longer
	// accepted.
	secretGrace = 5 * time.Second
)

// Links are the connections with other nodes: one port for raft, for requests forwarded to
// the leader, and for calls. Each connection begins with a greeting that names its kind
// and both nodes.
type Links struct {
	o            Options
	certificates *certificates // nil: without TLS
	refusals     *loglimit.Limiter[refusalKey]
	refusedLinks atomic.Int64
	raftConns    chan net.Conn // accepted, for raft's transport

	closing context.Context
	cancel  context.CancelFunc
	wait    sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	open     map[*trackedConn]struct{}
	accepted int
	greeting []*trackedConn // accepted and yet to greet, the oldest first
}

// New opens links, which accept connections when they are served. It fails if the TLS
// files can not be read. The caller must close the links.
func New(o Options) (*Links, error) {
	l := &Links{
		o: o, raftConns: make(chan net.Conn), open: make(map[*trackedConn]struct{}),
		refusals: loglimit.New[refusalKey](refusalEvery, maxRefusals, loglimit.Suppress),
	}
	if o.TLS != nil {
		c, err := newCertificates(*o.TLS, o.Log)
		if err != nil {
			return nil, err
		}
		l.certificates = c
	}
	l.closing, l.cancel = context.WithCancel(context.Background())
	return l, nil
}

// Certificates returns the certificates of links; nil: links are without TLS.
func (l *Links) Certificates() *certs.Source {
	if l.certificates == nil {
		return nil
	}
	return l.certificates.Source
}

// RefusedCount returns the number of links that were refused so far.
func (l *Links) RefusedCount() int64 { return l.refusedLinks.Load() }

// DialForward dials a link for forwarded batches to the node at an address. expected is
// its id, or empty if any is accepted. The caller must close the link.
func (l *Links) DialForward(ctx context.Context, address, expected string) (net.Conn, error) {
	return l.dial(ctx, linkForward, address, expected)
}

// DialMessages dials a link for messages, as DialForward does.
func (l *Links) DialMessages(ctx context.Context, address, expected string) (net.Conn, error) {
	return l.dial(ctx, linkMessages, address, expected)
}

// Serve accepts connections until Close.
func (l *Links) Serve() {
	if !l.beginGoroutine() {
		return
	}
	defer l.wait.Done()
	pause := time.Duration(0)
	for {
		conn, err := l.o.Listener.Accept()
		switch {
		case err == nil:
			pause = 0
			l.accept(conn)
			continue
		case l.closing.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		}
		pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
		l.o.Log.Error("can't accept a link of another node", "error", err, "pause", pause)
		select {
		case <-l.closing.Done():
			return
		case <-time.After(pause):
		}
	}
}

// Close ends all links and returns when all their goroutines have ended. Answers to
// forwarded batches may still come later.
func (l *Links) Close() error {
	l.mu.Lock()
	l.closed = true
	open := l.open
	l.open = nil
	l.mu.Unlock()
	l.cancel()
	err := error(nil)
	if l.o.Listener != nil {
		err = l.o.Listener.Close()
	}
	for conn := range open {
		conn.Conn.Close()
	}
	l.wait.Wait()
	return err
}

// beginGoroutine counts a goroutine that Close waits for, unless links are closed.
func (l *Links) beginGoroutine() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.wait.Add(1)
	return true
}

// accept serves an accepted connection in a goroutine of its own.
func (l *Links) accept(raw net.Conn) {
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
	var oldest *trackedConn
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
func oldestOfBusiest(conns []*trackedConn) (oldest int) {
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
func (l *Links) serveLink(conn *trackedConn) {
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
		l.offer(&raftConn{secured, func() { l.o.Lost(from.Node) }})
		return
	}
	defer secured.Close()
	if from.kind == linkCall {
		l.answerCalls(secured, from)
		return
	}
	if from.kind == linkMessages {
		l.broken(secured, l.o.Messages(secured, Peer{from.Identity, from.raft}))
		return
	}
	l.broken(secured, l.o.Forwarded(secured))
}

// track registers a connection for close. Requires: mu is held, and links are open.
func (l *Links) track(raw net.Conn, accepted bool) *trackedConn {
	if tcp, ok := raw.(*net.TCPConn); ok {
		// If these fail, the connection has failed, and its next use reports that.
		tcp.SetNoDelay(true)
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 5 * time.Second, Count: 3})
	}
	conn := &trackedConn{Conn: raw, links: l, accepted: accepted}
	l.open[conn] = struct{}{}
	return conn
}

// dial makes a link to the node at an address and exchanges greetings. expected is its id,
// or empty if any is accepted.
func (l *Links) dial(ctx context.Context, kind linkKind, address, expected string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.Timeout)
	defer cancel()
	defer context.AfterFunc(l.closing, cancel)()
	raw, err := l.o.Dial(ctx, address)
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
	secured, err := l.greet(ctx, conn, address, greeting{kind, l.o.Identity(), expected, l.o.Address})
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("greet node at %s: %w", address, err)
	}
	return secured, nil
}

// A trackedConn is a connection that links track until it is closed.
type trackedConn struct {
	net.Conn
	links    *Links
	accepted bool
	// greeted: secret is set. stale is the time when that secret was last accepted; zero:
	// it is accepted. The mutex of links guards them.
	greeted bool
	secret  Secret
	stale   time.Time
}

// recordSecret records the secret of a link.
func (l *Links) recordSecret(conn *trackedConn, s Secret) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn.greeted, conn.secret = true, s
}

// CloseStale closes links when their secret has not been accepted for secretGrace. It must
// be called periodically.
func (l *Links) CloseStale(now time.Time) {
	if l.o.Secrets == nil {
		return
	}
	secrets := l.o.Secrets.current()
	var over []*trackedConn
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
		l.o.Log.Info("links made with a former cluster secret were closed", "links", len(over))
	}
}

func (c *trackedConn) Close() error {
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
	under *trackedConn
}

func (c securedConn) Close() error { return c.under.Close() }
