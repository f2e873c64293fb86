package link

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// testNode returns a node id made of a digit.
func testNode(digit string) string { return strings.Repeat(digit, 40) }

var (
	clusterA = ClusterID{1}
	clusterB = ClusterID{2}
)

// tcpNode returns links that are served until the test ends, on a local port unless o
// says otherwise.
func tcpNode(t testing.TB, own Identity, o Options) *Links {
	t.Helper()
	if o.Listener == nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		o.Listener = listener
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", address)
		}
	}
	return serveNode(t, own, o)
}

func serveNode(t testing.TB, own Identity, o Options) *Links {
	t.Helper()
	if o.Address == "" {
		o.Address = o.Listener.Addr().String()
	}
	if o.Identity == nil {
		o.Identity = func() Identity { return own }
	}
	if o.Call == nil {
		o.Call = func(context.Context, Peer, string, json.RawMessage) (any, error) {
			return nil, errors.New("no calls")
		}
	}
	if o.Forwarded == nil {
		o.Forwarded = func(net.Conn) error { return errors.New("no batches") }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Lost == nil {
		o.Lost = func(string) {}
	}
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		l.Serve()
	}()
	t.Cleanup(func() {
		l.Close()
		<-served
	})
	return l
}

func (l *Links) address() string { return l.o.Listener.Addr().String() }
