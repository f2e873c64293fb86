package admin

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"

	"limitsrv/commands"
)

// places are so many at once, and so many for one site, so that no single one keeps
// others out. Many may use them at once.
type siteLimiter struct {
	maxTotal, maxPerSite int

	mu      sync.Mutex
	total   int
	perSite map[string]int // by site
}

func newSiteLimiter(maxTotal, maxPerSite int) *siteLimiter {
	return &siteLimiter{maxTotal: maxTotal, maxPerSite: maxPerSite, perSite: map[string]int{}}
}

// enter takes a place, if there is one.
func (p *siteLimiter) acquire(site string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total >= p.maxTotal || p.perSite[site] >= p.maxPerSite {
		return false
	}
	p.total++
	p.perSite[site]++
	return true
}

func (p *siteLimiter) release(site string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total--
	if p.perSite[site]--; p.perSite[site] == 0 {
		delete(p.perSite, site)
	}
}

// A bounded listener has at most so many connections at once, and so many of one site.
// Beyond that a new one takes the room of another, see enter, so that a probe, whose
// request comes at once, is answered however many connections its site has open and leaves
// unused. Unless config is nil, connections are over TLS as it says when they come; net/http
// sees to their handshakes.
type boundedListener struct {
	net.Listener
	maxTotal, maxPerSite int
	tlsConfig            func() *tls.Config

	mu      sync.Mutex
	conns   []*boundedConn // by when they came or were last answered, the earliest first
	perSite map[string]int // by site
}

func newBoundedListener(l net.Listener, maxTotal, maxPerSite int, tlsConfig func() *tls.Config) *boundedListener {
	return &boundedListener{Listener: l, maxTotal: maxTotal, maxPerSite: maxPerSite, tlsConfig: tlsConfig, perSite: map[string]int{}}
}

// Accept waits for a connection and closes the one whose room it takes.
func (b *boundedListener) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &boundedConn{Conn: conn, listener: b, site: commands.SiteOf(conn.RemoteAddr().String())}
	if displaced := b.add(c); displaced != nil {
		displaced.Close()
		runtime.Gosched() // those that have just come are to be read from before they can be displaced
	}
	if b.tlsConfig != nil {
		return tls.Server(c, b.tlsConfig()), nil
	}
	return c, nil
}

// enter takes room for a connection. Where there is none it is that of another, which is
// to be closed: of the same site if that has as many as it may or as any other has, and else of
// the site that has most.
func (b *boundedListener) add(c *boundedConn) (displaced *boundedConn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	crowded := c.site
	full := b.perSite[c.site] >= b.maxPerSite
	if !full && len(b.conns) >= b.maxTotal {
		full = true
		for _, other := range b.conns {
			if b.perSite[other.site] > b.perSite[crowded] {
				crowded = other.site
			}
		}
	}
	if full {
		i := b.leastUsed(crowded)
		displaced = b.conns[i]
		b.removeAt(i)
	}
	b.conns = append(b.conns, c)
	b.perSite[c.site]++
	return displaced
}

// leastUsed is the connection of a site that has waited longest for a whole request, or
// for the next one; if all are being answered, the first of these. The site has one. mu is held.
func (b *boundedListener) leastUsed(site string) int {
	first := -1
	for i, c := range b.conns {
		switch {
		case c.site != site:
		case !c.busy:
			return i
		case first < 0:
			first = i
		}
	}
	return first
}

func (b *boundedListener) remove(c *boundedConn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.conns, c); i >= 0 {
		b.removeAt(i)
	}
}

// drop forgets a connection. mu is held.
func (b *boundedListener) removeAt(i int) {
	site := b.conns[i].site
	b.conns = slices.Delete(b.conns, i, i+1)
	if b.perSite[site]--; b.perSite[site] == 0 {
		delete(b.perSite, site)
	}
}

// A counted connection is one of a bounded listener.
type boundedConn struct {
	net.Conn
	listener *boundedListener
	site     string
	// answered says that a whole request of it is being answered. of.mu guards it.
	busy bool
}

// begin says that a whole request has come.
func (c *boundedConn) markBusy() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.busy = true
}

// end says that it is answered.
func (c *boundedConn) markIdle() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.busy = false
	if i := slices.Index(c.listener.conns, c); i >= 0 {
		c.listener.conns = append(slices.Delete(c.listener.conns, i, i+1), c)
	}
}

// Close may be called more than once.
func (c *boundedConn) Close() error {
	c.listener.remove(c)
	return c.Conn.Close()
}

// connectionKey is the key of a request's counted connection in its context.
type connectionKey struct{}

// withConnection is the ConnContext of a server on a bounded listener.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// noted tells the connection of a request when the request is there whole, and when it
// is answered.
func trackRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*boundedConn); ok {
			defer c.markIdle()
			if r.Body == http.NoBody {
				c.markBusy()
			} else {
				r.Body = &trackedBody{r.Body, c}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// A notedBody tells its connection when it has come to its end.
type trackedBody struct {
	io.ReadCloser
	c *boundedConn
}

func (b *trackedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.c.markBusy()
	}
	return n, err
}
