package server

import (
	"net"
	"sync"
)

// A countedListener counts its connections as clients of a Server.
type countedListener struct {
	net.Listener
	s *Server
}

// Counted returns a listener of another protocol. Its connections count as clients of s
// from Accept to Close. A connection beyond MaxClients is closed without a reply.
func (s *Server) Counted(ln net.Listener) net.Listener { return &countedListener{ln, s} }

// Accept waits for a connection that is within MaxClients.
func (l *countedListener) Accept() (net.Conn, error) {
	for {
		nc, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.s.connections.Add(1)
		if l.s.clients.Add(1) <= l.s.maxClients.Load() {
			return &countedConn{Conn: nc, s: l.s}, nil
		}
		l.s.clients.Add(-1)
		l.s.rejected.Add(1)
		nc.Close()
	}
}

// A countedConn is a client until its first Close.
type countedConn struct {
	net.Conn
	s      *Server
	closed sync.Once
}

// Close may be called more than once.
func (c *countedConn) Close() error {
	c.closed.Do(func() { c.s.clients.Add(-1) })
	return c.Conn.Close()
}
