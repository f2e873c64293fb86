package server

import "net"

// cpuTokens is a semaphore that bounds the number of handshakes that compute at once, so
// that clients find a free processor. Waiters are served in order.
type cpuTokens chan struct{}

func newCPUTokens(n int) cpuTokens { return make(cpuTokens, n) }

// A throttledConn holds a CPU token except while blocked in Read or Write. Concurrency:
// one goroutine.
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

// acquire blocks until a token is free.
func (c *throttledConn) acquire() {
	if c.tokens != nil {
		c.tokens <- struct{}{}
		c.held = true
	}
}

// release returns the token, if the connection holds a token.
func (c *throttledConn) release() {
	if c.held {
		c.held = false
		<-c.tokens
	}
}

// detach ends the throttling: from now on the connection needs no token.
func (c *throttledConn) detach() {
	c.release()
	c.tokens = nil
}
