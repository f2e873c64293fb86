package forward

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/link"
)

// testTimeout is the timeout of links and answers in tests, unless they choose another: no
// machine is so slow.
const testTimeout = 10 * time.Minute

// testLinks are links with the address of their listener, and the number of open links with
// forwarded batches.
type testLinks struct {
	*link.Links
	address string
	open    atomic.Int64
}

// tcpLinks is serveLinks on a local port.
func tcpLinks(t testing.TB, digit string, o link.Options, server Server) *testLinks {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o.Listener = listener
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	return serveLinks(t, digit, o, server)
}

// each returns a Server.Do that executes one batch after the other.
func each(exec func(*engine.Batch, func(error))) func([]Request) {
	return func(all []Request) {
		for _, r := range all {
			exec(r.Batch, r.Done)
		}
	}
}

// serveLinks returns links of a node that are served until the test ends. digit makes its
// id. server executes the batches that other nodes forward, unless o does.
func serveLinks(t testing.TB, digit string, o link.Options, server Server) *testLinks {
	t.Helper()
	l := &testLinks{address: o.Listener.Addr().String()}
	o.Address = l.address
	o.Identity = func() link.Identity { return link.Identity{Cluster: link.ClusterID{1}, Node: nodeID(digit)} }
	o.Call = func(context.Context, link.Peer, string, json.RawMessage) (any, error) {
		return nil, errors.New("no calls")
	}
	o.Lost = func(string) {}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Timeout == 0 {
		o.Timeout = testTimeout
	}
	server.Timeout = o.Timeout
	serve := o.Forwarded
	if serve == nil {
		serve = server.Serve
	}
	o.Forwarded = func(conn net.Conn) error {
		l.open.Add(1)
		defer l.open.Add(-1)
		return serve(conn)
	}
	var err error
	if l.Links, err = link.New(o); err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		l.Links.Serve()
	}()
	t.Cleanup(func() {
		l.Links.Close()
		<-served
	})
	return l
}

// nodeID returns a node id made of a digit.
func nodeID(digit string) string { return strings.Repeat(digit, 40) }

// testClient returns a client over links.
func testClient(l *link.Links, timeout time.Duration) *Client {
	return New(Options{Links: l, Log: slog.New(slog.DiscardHandler), Timeout: timeout, AnswerTimeout: timeout})
}

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
