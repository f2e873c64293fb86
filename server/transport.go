package server

import "net"

// A transport accepts connections, and carries bytes between sockets and sessions. There are
// three: event loops, a goroutine per connection, and TLS over either of these. Concurrency:
// any goroutine may call its methods, listen, accept and unlisten one at a time.
type transport interface {
	// listen takes over a listener.
	listen(net.Listener) error
	// accept begins to accept connections in the background. It is called at most once.
	accept()
	// unlisten closes the listeners. No connection is accepted after its return.
	unlisten()
	// sweep closes the overdue connections.
	sweep()
	// drain answers the commands received, then closes each connection. Requires:
	// unlisten.
	drain()
	// stop closes the remaining connections and returns their number.
	stop() int
	// done is closed when drain or stop has completed.
	done() <-chan struct{}
}

// A carrier is a transport that also serves the connections of another transport.
type carrier interface {
	transport
	// serveTLS begins to serve a connection after its handshake, which counts as a client. It
	// may be called until drain.
	serveTLS(*handshake)
}
