package replication

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/testwait"
)

// testNode returns a node id made of a digit.
func testNode(digit string) string { return strings.Repeat(digit, 40) }

var (
	clusterA = clusterID{1}
	clusterB = clusterID{2}
)

// tcpLinks returns links that are served until the test ends, on a local port unless o
// says otherwise.
func tcpLinks(t testing.TB, own identity, o linkOptions) *links {
	t.Helper()
	if o.listener == nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o.listener = listener
	}
	if o.dial == nil {
		o.dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	return serveLinks(t, own, o)
}

func serveLinks(t testing.TB, own identity, o linkOptions) *links {
	t.Helper()
	if o.address == "" {
		o.address = o.listener.Addr().String()
	}
	if o.identity == nil {
		o.identity = func() identity { return own }
	}
	if o.call == nil {
		o.call = func(context.Context, greeting, string, json.RawMessage) (any, error) {
			return nil, errors.New("no calls")
		}
	}
	if o.exec == nil {
		o.exec = newTestLeader().exec
	}
	if o.commit == nil {
		o.commit = func() {}
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	if o.timeout == 0 {
		o.timeout = 30 * time.Second
	}
	o.answerTimeout = o.timeout
	if o.lost == nil {
		o.lost = func(string) {}
	}
	l, err := newLinks(o)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		l.serve()
	}()
	t.Cleanup(func() {
		l.close()
		<-served
	})
	return l
}

func (l *links) address() string { return l.o.listener.Addr().String() }

// A testLeader decides at once, at a fixed time.
type testLeader struct {
	mu     sync.Mutex
	engine *engine.Engine
	ops    int
}

func newTestLeader() *testLeader {
	return &testLeader{engine: engine.New(engine.Options{Shards: 4})}
}

func (d *testLeader) exec(b *engine.Batch, done func(error)) {
	d.mu.Lock()
	d.engine.Apply(1e18, b)
	d.ops += len(b.Ops)
	d.mu.Unlock()
	done(nil)
}

// A pipeNet is a network in memory, for bubbles of synctest.
type pipeNet struct {
	mu        sync.Mutex
	listeners map[string]*pipeListener
}

func newPipeNet() *pipeNet { return &pipeNet{listeners: make(map[string]*pipeListener)} }

func (n *pipeNet) listen(address string) net.Listener {
	l := &pipeListener{address: pipeAddr(address), conns: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	n.listeners[address] = l
	n.mu.Unlock()
	return l
}

func (n *pipeNet) dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return nil, errors.New("no listener at " + address)
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeListener struct {
	address pipeAddr
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return l.address }

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }

// A records is a log that tests read.
type records struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{} // closed at the next write
}

func (r *records) Write(data []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written != nil {
		close(r.written)
		r.written = nil
	}
	return r.text.Write(data)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// await blocks until text has been logged.
func (r *records) await(t testing.TB, text string) {
	t.Helper()
	late := time.After(testwait.Scaled(30 * time.Second))
	for {
		r.mu.Lock()
		if r.written == nil {
			r.written = make(chan struct{})
		}
		written, logged := r.written, r.text.String()
		r.mu.Unlock()
		if strings.Contains(logged, text) {
			return
		}
		select {
		case <-written:
		case <-late:
			t.Errorf("%q has not been logged, but\n%s", text, logged)
			return
		}
	}
}

func (r *records) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }
