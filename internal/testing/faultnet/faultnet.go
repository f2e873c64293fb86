// Package faultnet is a TCP network between processes on this machine with fault
// injection at run time: links are cut, in one or both directions, or delayed.
//
// Every node has a loopback address of its own, for example 127.77.0.1, and dials from it:
// the network identifies the source of a connection by that address. The network listens at
// an address for each node, and forwards to the address where the node listens. Loopback
// addresses other than 127.0.0.1 exist on Linux; other systems have them only if they are
// configured.
package faultnet

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// A Network forwards connections between nodes. Concurrency: any goroutine may call any
// method.
type Network struct {
	links  map[direction]*link // never changed
	closed chan struct{}
	once   sync.Once
	live   sync.WaitGroup // goroutines

	mu        sync.Mutex
	listeners []net.Listener
}

// A direction is a pair of hosts.
type direction struct{ from, to string }

// New returns a network between hosts, which are loopback IP addresses. All links are up,
// without delay.
func New(hosts ...string) *Network {
	n := &Network{links: map[direction]*link{}, closed: make(chan struct{})}
	for _, from := range hosts {
		for _, to := range hosts {
			n.links[direction{from, to}] = newLink()
		}
	}
	return n
}

// Expose listens at an address of one of the hosts, host:port where port may be 0, and
// forwards connections from hosts to target. It returns the address of its listener. A
// connection from any other address is closed, because its process does not dial from its
// own host.
func (n *Network) Expose(address, target string) (string, error) {
	to, _, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	select {
	case <-n.closed:
		listener.Close()
		return "", fmt.Errorf("expose %s: %w", address, net.ErrClosed)
	default:
	}
	n.listeners = append(n.listeners, listener)
	n.live.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // Close, or no more files
			}
			n.live.Go(func() { n.serve(conn.(*net.TCPConn), to, target) })
		}
	})
	return listener.Addr().String(), nil
}

// serve forwards a connection until both ends have closed it.
func (n *Network) serve(dialer *net.TCPConn, to, target string) {
	defer dialer.Close()
	from, _, _ := net.SplitHostPort(dialer.RemoteAddr().String())
	there, back := n.links[direction{from, to}], n.links[direction{to, from}]
	if there == nil {
		return
	}
	// Opening a connection takes both directions.
	if !there.waitUp(n.closed) || !back.waitUp(n.closed) {
		return
	}
	conn, err := net.DialTimeout("tcp", target, dialWait)
	if err != nil {
		return
	}
	defer conn.Close()
	host := conn.(*net.TCPConn)
	over := make(chan struct{})
	defer close(over)
	n.live.Go(func() {
		select {
		case <-n.closed:
			dialer.Close()
			host.Close()
		case <-over:
		}
	})
	var both sync.WaitGroup
	both.Go(func() { n.forward(dialer, host, there, back) })
	both.Go(func() { n.forward(host, dialer, back, there) })
	both.Wait()
}

// dialWait bounds the time until a node accepts a connection.
const dialWait = 2 * time.Second

// Cut holds back all data from a host to another until Heal: bytes, the end of a
// connection, and new connections, no matter which of them opened the connection. As on a
// network that loses packets, an established connection loses no data.
func (n *Network) Cut(from, to string) { n.link(from, to).cut() }

// Delay delays all data sent from a host to another from now on by d, until the next Delay.
func (n *Network) Delay(from, to string, d time.Duration) { n.link(from, to).setDelay(d) }

// link returns the link of a direction. It panics if either is not a host of this
// network.
func (n *Network) link(from, to string) *link {
	l := n.links[direction{from, to}]
	if l == nil {
		panic(fmt.Sprintf("faultnet: no link from %s to %s", from, to))
	}
	return l
}

// Isolate cuts all links between a host and the other hosts, in both directions.
func (n *Network) Isolate(host string) {
	for d, l := range n.links {
		if (d.from == host) != (d.to == host) {
			l.cut()
		}
	}
}

// Heal restores every link. Delays stay.
func (n *Network) Heal() {
	for _, l := range n.links {
		l.heal()
	}
}

// Close ends all connections and waits for all goroutines of the network.
func (n *Network) Close() {
	n.mu.Lock()
	n.once.Do(func() { close(n.closed) })
	for _, listener := range n.listeners {
		listener.Close()
	}
	n.mu.Unlock()
	n.live.Wait()
}
