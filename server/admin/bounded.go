package admin

import (
	"net"
	"sync"
	"sync/atomic"
)

// A bounded listener has so many connections at once; one more is closed as soon as
// it comes.
type bounded struct {
	net.Listener
	most int64
	open atomic.Int64
}

func newBounded(l net.Listener, most int64) *bounded { return &bounded{Listener: l, most: most} }

// Accept waits for a connection that there is room for.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= b.most {
			return &counted{Conn: conn, open: &b.open}, nil
		}
		b.open.Add(-1)
		conn.Close()
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
