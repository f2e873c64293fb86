package replication

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"
)

// A simNet is a network of named hosts in memory. Between any two there is a link for each
// direction, with its own delay, that can be cut: then bytes stop flowing and nothing is
// closed, as with a pulled cable. Bytes sent over a cut link arrive when it is repaired,
// as TCP would retransmit them.
type simNet struct {
	mu        sync.Mutex
	rng       *rand.Rand
	links     map[[2]string]*simLink
	listeners map[string]*simListener
	conns     map[*simPair]bool
	off       map[string]bool // hosts that do not even refuse
	changed   sync.Cond       // a link was repaired or a listener opened
	base      time.Duration
	dials     int
}

// newSimNet makes a network with links that take base, and up to half of it more.
func newSimNet(seed uint64, base time.Duration) *simNet {
	n := &simNet{
		rng:       rand.New(rand.NewPCG(seed, 0x6e6574)),
		links:     map[[2]string]*simLink{},
		listeners: map[string]*simListener{},
		conns:     map[*simPair]bool{},
		off:       map[string]bool{},
		base:      base,
	}
	n.changed.L = &n.mu
	return n
}

// A simLink is a direction between two hosts.
type simLink struct {
	net      *simNet
	from, to string
	cut      bool
	extra    time.Duration
	streams  map[*simStream]bool
}

// link returns a link. Requires: mu is held.
func (n *simNet) link(from, to string) *simLink {
	key := [2]string{from, to}
	l := n.links[key]
	if l == nil {
		l = &simLink{net: n, from: from, to: to, streams: map[*simStream]bool{}}
		n.links[key] = l
	}
	return l
}

func (l *simLink) reverse() *simLink { return l.net.link(l.to, l.from) }

// delay returns the delay of bytes sent now.
func (l *simLink) delay() time.Duration {
	if l.from == l.to {
		return 0
	}
	return l.net.base + l.extra + time.Duration(l.net.rng.Int64N(int64(l.net.base)/2+1))
}

// setCut cuts or repairs a direction.
func (n *simNet) setCut(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.link(from, to)
	if l.cut == cut || from == to {
		return
	}
	l.cut = cut
	for s := range l.streams {
		if cut {
			s.hold()
		} else {
			s.release()
		}
	}
	for s := range l.reverse().streams {
		s.refuse()
	}
	n.changed.Broadcast()
}

// setExtra makes a direction slower.
func (n *simNet) setExtra(from, to string, extra time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.link(from, to).extra = extra
}

// repair repairs all links between the hosts, and removes their extra delays.
func (n *simNet) repair(hosts []string) {
	for _, from := range hosts {
		for _, to := range hosts {
			n.setCut(from, to, false)
			n.setExtra(from, to, 0)
		}
	}
}

// reset breaks all connections between two hosts.
func (n *simNet) reset(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		if c.touches(a) && c.touches(b) {
			n.breakConn(c)
		}
	}
}

// close ends all connections, as if all hosts were switched off.
func (n *simNet) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		n.breakConn(c)
	}
	for address, l := range n.listeners {
		l.close()
		delete(n.listeners, address)
	}
}

// touches reports whether a host is at an end.
func (c *simPair) touches(host string) bool {
	return c.there.link.from == host || c.there.link.to == host
}

// breakConn breaks a connection. Requires: mu is held.
func (n *simNet) breakConn(c *simPair) {
	c.there.fail(syscall.ECONNRESET)
	c.back.fail(syscall.ECONNRESET)
	n.untrack(c)
}

// untrack forgets a closed connection. Requires: mu is held.
func (n *simNet) untrack(c *simPair) {
	if c.there.over() && c.back.over() {
		delete(n.conns, c)
	}
}

// setListening closes the listener at a host's port, or lets it open again: while it is
// closed, dials are refused.
func (n *simNet) setListening(address string, listening bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.listeners[address]; l != nil {
		l.deaf = !listening
	}
}

// A simHost is the network as seen by one process on a host: a Network. After crash it is
// unusable, and the host can have another.
type simHost struct {
	net  *simNet
	name string
	dead bool
}

func (n *simNet) host(name string) *simHost { return &simHost{net: n, name: name} }

// crash ends all of the process's connections and listeners. With loud its peers are
// notified, as by the kernel of a host after a process ended, and dials are refused.
// Otherwise they hear nothing from the host until a new process listens there.
func (h *simHost) crash(loud bool) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	h.dead = true
	n.off[h.name] = !loud
	for address, l := range n.listeners {
		if l.host == h {
			l.close()
			delete(n.listeners, address)
		}
	}
	for c := range n.conns {
		mine, theirs := c.there, c.back
		if theirs.link.from == h.name {
			mine, theirs = theirs, mine
		}
		switch {
		case !c.touches(h.name):
		case loud && !mine.link.cut:
			n.breakConn(c)
		default:
			mine.failWriter(net.ErrClosed)
			theirs.failReader(net.ErrClosed)
		}
	}
	n.changed.Broadcast()
}

// hostOf returns the host in HOST:PORT.
func hostOf(address string) string {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		panic(err)
	}
	return name
}

// Listen implements Network. A new process at an address breaks the connections of its
// host's last process.
func (h *simHost) Listen(address string) (net.Listener, error) {
	n := h.net
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case h.dead:
		return nil, net.ErrClosed
	case hostOf(address) != h.name:
		return nil, &net.OpError{Op: "listen", Net: "sim", Addr: simAddr(address), Err: syscall.EADDRNOTAVAIL}
	case n.listeners[address] != nil:
		return nil, &net.OpError{Op: "listen", Net: "sim", Addr: simAddr(address), Err: syscall.EADDRINUSE}
	}
	n.off[h.name] = false
	for c := range n.conns {
		left := c.there.broken != nil || c.back.broken != nil
		if left && c.touches(h.name) {
			n.breakConn(c)
		}
	}
	l := &simListener{host: h, address: simAddr(address)}
	l.change.L = &n.mu
	n.listeners[address] = l
	n.changed.Broadcast()
	return l, nil
}

// Dial implements Network. Over a cut link it blocks until ctx is done or the link is
// repaired.
func (h *simHost) Dial(ctx context.Context, address string) (net.Conn, error) {
	n := h.net
	stop := context.AfterFunc(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.changed.Broadcast()
	})
	defer stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dials++
	there, back := n.link(h.name, hostOf(address)), n.link(hostOf(address), h.name)
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: "sim", Addr: simAddr(address), Err: err}
	}
	for {
		if err := n.pause(ctx, there.delay()+back.delay()); err != nil {
			return fail(err)
		}
		for (there.cut || back.cut || n.off[hostOf(address)]) && ctx.Err() == nil && !h.dead {
			n.changed.Wait()
		}
		switch l := n.listeners[address]; {
		case h.dead:
			return fail(net.ErrClosed)
		case ctx.Err() != nil:
			return fail(ctx.Err())
		case l == nil || l.deaf:
			return fail(syscall.ECONNREFUSED)
		default:
			return n.connect(h, l, there, back), nil
		}
	}
}

// pause sleeps with mu released.
func (n *simNet) pause(ctx context.Context, d time.Duration) error {
	n.mu.Unlock()
	defer n.mu.Lock()
	if d == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// connect makes a connection. Requires: mu is held.
func (n *simNet) connect(h *simHost, l *simListener, there, back *simLink) *simConn {
	out, in := newSimStream(there), newSimStream(back)
	local := simAddr(net.JoinHostPort(h.name, "0"))
	pair := &simPair{there: out, back: in}
	near := &simConn{simPair: pair, net: n, local: local, remote: l.address, in: in, out: out}
	far := &simConn{simPair: pair, net: n, local: l.address, remote: local, in: out, out: in}
	n.conns[pair] = true
	l.waiting = append(l.waiting, far)
	l.change.Broadcast()
	return near
}

// A simListener is a net.Listener.
type simListener struct {
	host    *simHost
	address simAddr
	change  sync.Cond
	waiting []*simConn
	deaf    bool
	closed  bool
}

func (l *simListener) Accept() (net.Conn, error) {
	l.host.net.mu.Lock()
	defer l.host.net.mu.Unlock()
	for !l.closed && len(l.waiting) == 0 {
		l.change.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: "sim", Addr: l.address, Err: net.ErrClosed}
	}
	c := l.waiting[0]
	l.waiting = l.waiting[1:]
	return c, nil
}

func (l *simListener) Close() error {
	n := l.host.net
	n.mu.Lock()
	defer n.mu.Unlock()
	l.close()
	if n.listeners[string(l.address)] == l {
		delete(n.listeners, string(l.address))
	}
	return nil
}

// close closes the listener. Requires: the network's mutex is held.
func (l *simListener) close() {
	l.closed = true
	for _, c := range l.waiting {
		c.net.breakConn(c.simPair)
	}
	l.waiting = nil
	l.change.Broadcast()
}

func (l *simListener) Addr() net.Addr { return l.address }
