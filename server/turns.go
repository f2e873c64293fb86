package server

import "net"

// turns are leave to work, for so few at once that others have the processors when
// they need them. Who waits is served in order.
type turns chan struct{}

func newTurns(n int) turns { return make(turns, n) }

// A turned connection has a turn whenever it is not waiting for the other side: what
// is done with it between reading and writing is work. One goroutine uses it.
type turned struct {
	net.Conn
	turns turns
	has   bool
}

func (c *turned) Read(p []byte) (int, error) {
	c.yield()
	defer c.work()
	return c.Conn.Read(p)
}

func (c *turned) Write(p []byte) (int, error) {
	c.yield()
	defer c.work()
	return c.Conn.Write(p)
}

// work waits for a turn.
func (c *turned) work() {
	if c.turns != nil {
		c.turns <- struct{}{}
		c.has = true
	}
}

// yield gives the turn up, if it has one.
func (c *turned) yield() {
	if c.has {
		c.has = false
		<-c.turns
	}
}

// retire has it be as any connection from now on.
func (c *turned) retire() {
	c.yield()
	c.turns = nil
}
