package linktest

import (
	"context"
	"errors"
	"net"
	"sync"
)

// A Network is a network in memory, for bubbles of synctest. Concurrency: any
// goroutine.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
}

// NewNetwork returns a network without listeners.
func NewNetwork() *Network { return &Network{listeners: make(map[string]*listener)} }

// Listen returns a listener at an address, in place of an earlier listener.
func (n *Network) Listen(address string) net.Listener {
	l := &listener{address: addr(address), conns: make(chan net.Conn), closed: make(chan struct{})}
	n.mu.Lock()
	n.listeners[address] = l
	n.mu.Unlock()
	return l
}

// Dial connects to the listener at an address, and blocks until it accepts.
func (n *Network) Dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return nil, errors.New("no listener at " + address)
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct {
	address addr
	conns   chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return l.address }

type addr string

func (addr) Network() string  { return "pipe" }
func (a addr) String() string { return string(a) }
