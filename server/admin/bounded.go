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

// A bounded listener has at most so many connections at once, and so many of one site.
// Beyond that a new one takes the room of another, see enter, so that a probe, whose
// request comes at once, is answered however many connections its site has open and leaves
// unused. Unless config is nil, connections are over TLS as it says when they come; net/http
// sees to their handshakes.
type bounded struct {
	net.Listener
	most, mostEach int
	config         func() *tls.Config

	mu   sync.Mutex
	open []*counted     // by when they came or were last answered, the earliest first
	each map[string]int // by site
}

func newBounded(l net.Listener, most, mostEach int, config func() *tls.Config) *bounded {
	return &bounded{Listener: l, most: most, mostEach: mostEach, config: config, each: map[string]int{}}
}

// Accept waits for a connection and closes the one whose room it takes.
func (b *bounded) Accept() (net.Conn, error) {
	conn, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &counted{Conn: conn, of: b, site: commands.SiteOf(conn.RemoteAddr().String())}
	if displaced := b.enter(c); displaced != nil {
		displaced.Close()
		runtime.Gosched() // those that have just come are to be read from before they can be displaced
	}
	if b.config != nil {
		return tls.Server(c, b.config()), nil
	}
	return c, nil
}

// enter takes room for a connection. Where there is none it is that of another, which is
// to be closed: of the same site if that has as many as it may or as any other has, and else of
// the site that has most.
func (b *bounded) enter(c *counted) (displaced *counted) {
	b.mu.Lock()
	defer b.mu.Unlock()
	crowded := c.site
	full := b.each[c.site] >= b.mostEach
	if !full && len(b.open) >= b.most {
		full = true
		for _, other := range b.open {
			if b.each[other.site] > b.each[crowded] {
				crowded = other.site
			}
		}
	}
	if full {
		i := b.leastUsed(crowded)
		displaced = b.open[i]
		b.drop(i)
	}
	b.open = append(b.open, c)
	b.each[c.site]++
	return displaced
}

// leastUsed is the connection of a site that has waited longest for a whole request, or
// for the next one; if all are being answered, the first of these. The site has one. mu is held.
func (b *bounded) leastUsed(site string) int {
	first := -1
	for i, c := range b.open {
		switch {
		case c.site != site:
		case !c.answered:
			return i
		case first < 0:
			first = i
		}
	}
	return first
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
	// answered says that a whole request of it is being answered. of.mu guards it.
	answered bool
}

// begin says that a whole request has come.
func (c *counted) begin() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.answered = true
}

// end says that it is answered.
func (c *counted) end() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.answered = false
	if i := slices.Index(c.of.open, c); i >= 0 {
		c.of.open = append(slices.Delete(c.of.open, i, i+1), c)
	}
}

// Close may be called more than once.
func (c *counted) Close() error {
	c.of.leave(c)
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
func noted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connectionKey{}).(*counted); ok {
			defer c.end()
			if r.Body == http.NoBody {
				c.begin()
			} else {
				r.Body = &notedBody{r.Body, c}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// A notedBody tells its connection when it has come to its end.
type notedBody struct {
	io.ReadCloser
	c *counted
}

func (b *notedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.c.begin()
	}
	return n, err
}
