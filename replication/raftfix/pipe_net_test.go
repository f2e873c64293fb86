package raftfix

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"limitsrv/replication/lease"
)

// A pipeNet is a network in memory. Concurrency: any goroutine.
type pipeNet struct {
	nodes map[string]string // ids by address, for transports made later
	dials atomic.Int64

	mu      sync.Mutex
	down    bool
	streams map[raft.ServerAddress]*pipeStream
	conns   []net.Conn
}

// newPipeNet returns a network that is reset when the test ends.
func newPipeNet(t *testing.T) *pipeNet {
	n := &pipeNet{nodes: map[string]string{}, streams: map[raft.ServerAddress]*pipeStream{}}
	t.Cleanup(n.reset)
	return n
}

// transport returns a transport at an address, which is closed when the test ends.
func (n *pipeNet) transport(t *testing.T, address string) *Transport {
	s := &pipeStream{network: n, address: address, accepted: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	n.streams[raft.ServerAddress(address)] = s
	n.mu.Unlock()
	transport := NewTransport(TransportOptions{
		Stream: s, Address: address, Timeout: time.Second, Logger: hclog.NewNullLogger(),
		NodeAt:   func(address string) string { return n.nodes[address] },
		Answered: func(string) {},
		Starting: func(error) bool { return false },
		Promise:  lease.NewPromise(lease.Clock, 0),
		Grants: lease.NewGrants(lease.GrantOptions{
			Clock: lease.Clock, Voters: func() (bool, []string) { return false, nil }, Confirmed: func() {},
		}),
	})
	t.Cleanup(func() { transport.Close() })
	return transport
}

// setDown makes all dials fail, or succeed again.
func (n *pipeNet) setDown(down bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = down
}

// reset closes all connections.
func (n *pipeNet) reset() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, conn := range n.conns {
		conn.Close()
	}
	n.conns = nil
}

// A pipeStream is a raft.StreamLayer of a pipeNet.
type pipeStream struct {
	network  *pipeNet
	address  string
	accepted chan net.Conn
	once     sync.Once
	closed   chan struct{}
}

func (s *pipeStream) Accept() (net.Conn, error) {
	select {
	case conn := <-s.accepted:
		return conn, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

func (s *pipeStream) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *pipeStream) Addr() net.Addr { return pipeAddr(s.address) }

func (s *pipeStream) Dial(address raft.ServerAddress, _ time.Duration) (net.Conn, error) {
	n := s.network
	n.dials.Add(1)
	here, there := net.Pipe()
	n.mu.Lock()
	to, down := n.streams[address], n.down
	n.conns = append(n.conns, here, there)
	n.mu.Unlock()
	if down {
		return nil, errors.New("the network is down")
	}
	select {
	case to.accepted <- there:
		return here, nil
	case <-to.closed:
		return nil, net.ErrClosed
	}
}

type pipeAddr string

func (pipeAddr) Network() string  { return "pipe" }
func (a pipeAddr) String() string { return string(a) }
