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

	"limitsrv/commands/auth"
)

// Bounds of the connections at once: of all, and of a single site.
const (
	maxConnections        = 128
	maxConnectionsPerSite = 64
)

// A boundedListener bounds the connections at once, in total and per site. Beyond a bound
// a new connection displaces another, see add. So a probe is answered however many
// connections its site leaves unused, because its request follows at once. Unless
// tlsConfig is nil, connections use TLS with the configuration that it returns for each;
// net/http does the handshakes.
type boundedListener struct {
	net.Listener
	maxTotal, maxPerSite int
	tlsConfig            func() *tls.Config

	mu      sync.Mutex
	conns   []*boundedConn // by time of arrival or of the last reply, the earliest first
	perSite map[string]int // by site
}

func newBoundedListener(l net.Listener, maxTotal, maxPerSite int, tlsConfig func() *tls.Config) *boundedListener {
	return &boundedListener{Listener: l, maxTotal: maxTotal, maxPerSite: maxPerSite, tlsConfig: tlsConfig,
		perSite: map[string]int{}}
}

// Accept waits for a connection and closes the connection that it displaces.
func (b *boundedListener) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &boundedConn{Conn: conn, listener: b, site: auth.SiteOf(conn.RemoteAddr().String())}
	if displaced := b.add(c); displaced != nil {
		displaced.Close()
		runtime.Gosched() // new connections must be read from before they can be displaced
	}
	if b.tlsConfig != nil {
		return tls.Server(c, b.tlsConfig()), nil
	}
	return c, nil
}

// add adds a connection. Beyond a bound it returns the connection to close: a connection of
// the same site if that has reached its bound or has as many as any other site, and
// otherwise a connection of the site that has most.
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

// leastUsed returns the index of the site's connection that has waited longest for a
// complete request, or for the next request. If all are busy, it is the first connection.
// Requires: the site has a connection, and mu is held.
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

// removeAt removes a connection. Requires: mu is held.
func (b *boundedListener) removeAt(i int) {
	site := b.conns[i].site
	b.conns = slices.Delete(b.conns, i, i+1)
	if b.perSite[site]--; b.perSite[site] == 0 {
		delete(b.perSite, site)
	}
}

// A boundedConn is a connection of a boundedListener.
type boundedConn struct {
	net.Conn
	listener *boundedListener
	site     string
	// busy is set while a complete request is being answered. listener.mu guards it.
	busy bool
}

// markBusy records that a complete request has arrived.
func (c *boundedConn) markBusy() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.busy = true
}

// markIdle records that the request is answered.
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

// connectionKey is the context key of a request's boundedConn.
type connectionKey struct{}

// withConnection is the ConnContext of an http.Server on a boundedListener.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// trackRequests marks the connection of a request as busy when the request is complete,
// and as idle when it is answered.
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

// A trackedBody marks its connection as busy at the end of the body.
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
