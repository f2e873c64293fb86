package admin

import (
	"crypto/tls"
	"net"
	"sync"
)

// A bounded listener has so many connections at once, and so many of one address, so
// that no single one keeps probes out; one more is closed as soon as it comes. Unless
// config is nil, connections are over TLS as it says when they come; net/http sees to
// their handshakes.
type bounded struct {
	net.Listener
	most, mostEach int
	config         func() *tls.Config

	mu   sync.Mutex
	open int
	each map[string]int // by address, without the port
}

func newBounded(l net.Listener, most, mostEach int, config func() *tls.Config) *bounded {
	return &bounded{Listener: l, most: most, mostEach: mostEach, config: config, each: map[string]int{}}
}

// Accept waits for a connection that there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
		if err != nil || !b.enter(host) {
			conn.Close()
			continue
		}
		conn = &counted{Conn: conn, leave: sync.OnceFunc(func() { b.leave(host) })}
		if b.config != nil {
			conn = tls.Server(conn, b.config())
		}
		return conn, nil
	}
}

// enter takes room for a connection, if there is any.
func (b *bounded) enter(host string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open >= b.most || b.each[host] >= b.mostEach {
		return false
	}
	b.open++
	b.each[host]++
	return true
}

func (b *bounded) leave(host string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	if b.each[host]--; b.each[host] == 0 {
		delete(b.each, host)
	}
}

// A counted connection is one of a bounded listener.
type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
