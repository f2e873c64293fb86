package server

import "net"

// A transport carries bytes between sockets and sessions. There are three: event loops, a
// goroutine per connection, and the same over TLS. Concurrency: any goroutine may call
// its methods.
type transport interface {
	// carry takes over an accepted connection, also if it returns an error.
	carry(net.Conn) error
	// sweep closes the overdue connections.
	sweep()
	// drain answers the commands received, then closes each connection. Requires: no
	// carry after it.
	drain()
	// stop closes the remaining connections and returns their number.
	stop() int
	// done is closed when drain or stop has completed.
	done() <-chan struct{}
}
