package server

import "net"

// turns are leave to work, for so few at once that others have the processors when
// they need them. Who waits is served in order.
type cpuTokens chan struct{}

func newCPUTokens(n int) cpuTokens { return make(cpuTokens, n) }

// A turned connection has a turn whenever it is not waiting for the other side: what
// is done with it between reading and writing is work. One goroutine uses it.
type throttledConn struct {
	net.Conn
	tokens cpuTokens
	held   bool
}

func (c *throttledConn) Read(p []byte) (int, error) {
	c.release()
	defer c.acquire()
	return c.Conn.Read(p)
}

func (c *throttledConn) Write(p []byte) (int, error) {
	c.release()
	defer c.acquire()
	return c.Conn.Write(p)
}

// work waits for a turn.
func (c *throttledConn) acquire() {
	if c.tokens != nil {
		c.tokens <- struct{}{}
		c.held = true
	}
}

// yield gives the turn up, if it has one.
func (c *throttledConn) release() {
	if c.held {
		c.held = false
		<-c.tokens
	}
}

// retire has it be as any connection from now on.
func (c *throttledConn) detach() {
	c.release()
	c.tokens = nil
}
