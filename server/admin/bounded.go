package admin

import (
	"crypto/tls"
	"net"
	"sync"

	"limitsrv/commands"
)

// places are so many at once, and so many for one site, so that no single one keeps
// others out. Many may use them at once.
type places struct {
	most, mostEach int

	mu   sync.Mutex
	open int
	each map[string]int // by site
}

func newPlaces(most, mostEach int) *places {
	return &places{most: most, mostEach: mostEach, each: map[string]int{}}
}

// enter takes a place, if there is one.
func (p *places) enter(site string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= p.most || p.each[site] >= p.mostEach {
		return false
	}
	p.open++
	p.each[site]++
	return true
}

func (p *places) leave(site string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open--
	if p.each[site]--; p.each[site] == 0 {
		delete(p.each, site)
	}
}

// A bounded listener has places for connections: one more is closed as soon as it comes. Unless
// config is nil, connections are over TLS as it says when they come; net/http sees to
// their handshakes.
type bounded struct {
	net.Listener
	places *places
	config func() *tls.Config
}

// Accept waits for a connection that there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		site := commands.SiteOf(conn.RemoteAddr().String())
		if !b.places.enter(site) {
			conn.Close()
			continue
		}
		conn = &counted{Conn: conn, leave: sync.OnceFunc(func() { b.places.leave(site) })}
		if b.config != nil {
			conn = tls.Server(conn, b.config())
		}
		return conn, nil
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
