package admin

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
)

// A bounded listener has so many connections at once; one more is closed as soon as
// it comes. Unless config is nil, connections are over TLS as it says when they come;
// net/http sees to their handshakes.
type bounded struct {
	net.Listener
	most   int64
	config func() *tls.Config
	open   atomic.Int64
}

func newBounded(l net.Listener, most int64, config func() *tls.Config) *bounded {
	return &bounded{Listener: l, most: most, config: config}
}

// Accept waits for a connection that there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) > b.most {
			b.open.Add(-1)
			conn.Close()
			continue
		}
		conn = &counted{Conn: conn, open: &b.open}
		if b.config != nil {
			conn = tls.Server(conn, b.config())
		}
		return conn, nil
	}
}

// A counted connection is one of a bounded listener.
type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}
