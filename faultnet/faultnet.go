// Package faultnet is a TCP network between processes of this machine that can be
// broken while they run: links are cut, in one direction or both, or slowed down.
//
// Every node has an address of loopback for itself, such as 127.77.0.1, from which
// it also dials: that is how the network knows whose a connection is. Where a node
// wants to be reached it has the network listen, which passes on to where the node
// itself listens. Addresses of loopback other than 127.0.0.1 are there on Linux,
// elsewhere only if they were made.
package faultnet

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// A Network carries what nodes send each other. All of its methods may be called
// at any time from any goroutine.
type Network struct {
	links  map[direction]*link // never changed
	closed chan struct{}
	once   sync.Once
	live   sync.WaitGroup // goroutines

	mu        sync.Mutex
	listeners []net.Listener
}

// A direction is from one host to another.
type direction struct{ from, to string }

// New makes a network between hosts, IP addresses of loopback, of which every link
// is up and adds no delay.
func New(hosts ...string) *Network {
	n := &Network{links: map[direction]*link{}, closed: make(chan struct{})}
	for _, from := range hosts {
		for _, to := range hosts {
			n.links[direction{from, to}] = newLink()
		}
	}
	return n
}

// Expose listens at an address of one of the hosts, host:port where port may be 0,
// and passes connections from them on to target of that host. It gives the
// address that it listens at. A connection from any other address is closed: it
// is of a process that does not dial from its own host.
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

// serve carries one connection until both of its ends are done with it.
func (n *Network) serve(dialer *net.TCPConn, to, target string) {
	defer dialer.Close()
	from, _, _ := net.SplitHostPort(dialer.RemoteAddr().String())
	there, back := n.links[direction{from, to}], n.links[direction{to, from}]
	if there == nil {
		return
	}
	// What opens a connection goes there and back.
	if !there.pass(n.closed) || !back.pass(n.closed) {
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
	both.Go(func() { n.carry(dialer, host, there, back) })
	both.Go(func() { n.carry(host, dialer, back, there) })
	both.Wait()
}

// dialWait is how long a node may take until it accepts a connection.
const dialWait = 2 * time.Second

// Cut holds back all that from sends to, on connections that either has opened,
// until Heal: bytes, the end of a connection, and new connections. As on a real
// network that loses packets nothing is lost of a connection that lives on.
func (n *Network) Cut(from, to string) { n.link(from, to).cut() }

// Delay has all that from sends to from now on arrive later by d, until another
// Delay.
func (n *Network) Delay(from, to string, d time.Duration) { n.link(from, to).slow(d) }

// link is that of a direction; anything else than two hosts of this network is a
// mistake of the caller.
func (n *Network) link(from, to string) *link {
	l := n.links[direction{from, to}]
	if l == nil {
		panic(fmt.Sprintf("faultnet: no link from %s to %s", from, to))
	}
	return l
}

// Isolate cuts all links between a host and others, in both directions.
func (n *Network) Isolate(host string) {
	for d, l := range n.links {
		if (d.from == host) != (d.to == host) {
			l.cut()
		}
	}
}

// Heal puts every link up again. Delays stay.
func (n *Network) Heal() {
	for _, l := range n.links {
		l.heal()
	}
}

// Close ends all connections and waits until nothing of the network runs.
func (n *Network) Close() {
	n.mu.Lock()
	n.once.Do(func() { close(n.closed) })
	for _, listener := range n.listeners {
		listener.Close()
	}
	n.mu.Unlock()
	n.live.Wait()
}
