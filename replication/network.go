package replication

import (
	"context"
	"net"
)

// A Network makes connections.
type Network interface {
	Listen(address string) (net.Listener, error)
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// tcp is the Network of the operating system.
type tcp struct{ from *net.TCPAddr }

// Listen listens at an address.
func (tcp) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

// Dial connects to an address.
func (t tcp) Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	if t.from != nil {
		d.LocalAddr = t.from
	}
	return d.DialContext(ctx, "tcp", address)
}

// systemNetwork dials from the node's own host address, so that other nodes can identify it
// by that address.
func systemNetwork(bind string) Network {
	host, _, err := net.SplitHostPort(bind)
	if ip := net.ParseIP(host); err == nil && ip != nil && !ip.IsUnspecified() {
		return tcp{&net.TCPAddr{IP: ip}}
	}
	return tcp{}
}
