package link

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// RaftStream returns the stream layer for raft's transport. nodeAt returns the id of the node
// expected at an address, "" if unknown. At most one stream may be open at a time; closing it
// leaves the links open.
func (l *Links) RaftStream(nodeAt func(address string) string) raft.StreamLayer {
	return &raftStream{links: l, nodeAt: nodeAt, closed: make(chan struct{})}
}

// A raftConn is an accepted raft link. raft closes it when it ends.
type raftConn struct {
	net.Conn
	ended func()
}

func (c *raftConn) Close() error {
	c.ended()
	return c.Conn.Close()
}

type raftStream struct {
	links  *Links
	nodeAt func(address string) string
	once   sync.Once
	closed chan struct{}
}

// Accept returns a raft link that another node dialed.
func (s *raftStream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.links.raftConns:
		return conn, nil
	case <-s.closed:
	case <-s.links.closing.Done():
	}
	return nil, net.ErrClosed
}

func (s *raftStream) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Addr returns the listen address, which other nodes may not be able to dial.
func (s *raftStream) Addr() net.Addr { return s.links.o.Listener.Addr() }

// Dial connects to the node at an address, for raft.
func (s *raftStream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if string(address) == s.links.o.Address {
		return s.links.loop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.links.dial(ctx, linkRaft, string(address), s.nodeAt(string(address)))
}

// loop makes a raft link from this node to itself.
func (l *Links) loop() (net.Conn, error) {
	here, there := net.Pipe()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	accepted := l.track(there, false)
	l.wait.Go(func() { l.offer(accepted) })
	return l.track(here, false), nil
}

// offer hands a link to raft, and closes it if raft does not accept it within the timeout.
func (l *Links) offer(conn net.Conn) {
	timer := time.NewTimer(l.o.Timeout)
	defer timer.Stop()
	select {
	case l.raftConns <- conn:
		return
	case <-timer.C:
	case <-l.closing.Done():
	}
	conn.Close()
}
