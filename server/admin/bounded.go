package admin

import (
	"crypto/tls"
	"net"
	"slices"
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

// A bounded listener has so many connections at once, and so many of one site; one more
// of it is closed as soon as it comes. Where it is full, one that comes takes the room of
// the oldest of the site that has most, so that probes are answered whatever others do.
// Unless config is nil, connections are over TLS as it says when they come; net/http
// sees to their handshakes.
type bounded struct {
	net.Listener
	most, mostEach int
	config         func() *tls.Config

	mu   sync.Mutex
	open []*counted     // the oldest first
	each map[string]int // by site
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
		c := &counted{conn, b, commands.SiteOf(conn.RemoteAddr().String())}
		displaced, ok := b.enter(c)
		if displaced != nil {
			displaced.Close()
		}
		if !ok {
			conn.Close()
			continue
		}
		if b.config != nil {
			return tls.Server(c, b.config()), nil
		}
		return c, nil
	}
}

// enter takes room for a connection, if there is any, perhaps that of another, which is
// then to be closed.
func (b *bounded) enter(c *counted) (displaced *counted, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.each[c.site] >= b.mostEach {
		return nil, false
	}
	if len(b.open) >= b.most {
		most := 0
		for i, other := range b.open {
			if b.each[other.site] > b.each[b.open[most].site] {
				most = i
			}
		}
		displaced = b.open[most]
		if b.each[displaced.site] <= b.each[c.site] {
			return nil, false
		}
		b.drop(most)
	}
	b.open = append(b.open, c)
	b.each[c.site]++
	return displaced, true
}

func (b *bounded) leave(c *counted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.open, c); i >= 0 {
		b.drop(i)
	}
}

// drop forgets a connection. mu is held.
func (b *bounded) drop(i int) {
	site := b.open[i].site
	b.open = slices.Delete(b.open, i, i+1)
	if b.each[site]--; b.each[site] == 0 {
		delete(b.each, site)
	}
}

// A counted connection is one of a bounded listener.
type counted struct {
	net.Conn
	of   *bounded
	site string
}

// Close may be called more than once.
func (c *counted) Close() error {
	c.of.leave(c)
	return c.Conn.Close()
}
