package replication

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// streamBytes is the number of bytes that a stream buffers for its reader.
const streamBytes = 256 << 10

// A simStream is a direction of a simulated connection: bytes with the time of their
// arrival, if all earlier bytes have arrived. All waits use a sync.Cond and a timer, so
// that a bubble of testing/synctest detects that it is idle. The mutex of the network
// guards all fields.
type simStream struct {
	link    *simLink
	change  sync.Cond
	reader  *time.Timer // wake waits for a time; nil before the first
	writer  *time.Timer
	parts   []simPart
	bytes   int
	readBy  time.Time // deadlines; zero: no deadline
	writeBy time.Time
	shut    error // the reader's error, even if there are bytes
	broken  error // the writer's error
}

// A simPart is bytes under way, or the end of the stream.
type simPart struct {
	at   time.Time // zero: held up by a cut
	data []byte
	end  bool
}

func newSimStream(link *simLink) *simStream {
	s := &simStream{link: link}
	s.change.L = &link.net.mu
	link.streams[s] = true
	return s
}

// wait returns when something has changed, or at the earlier of two times, if not zero.
func (s *simStream) wait(timer **time.Timer, a, b time.Time) {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		a = b
	}
	switch {
	case a.IsZero():
	case *timer == nil:
		*timer = time.AfterFunc(time.Until(a), s.wake)
	default:
		(*timer).Reset(time.Until(a))
	}
	s.change.Wait()
}

func (s *simStream) wake() {
	s.link.net.mu.Lock()
	defer s.link.net.mu.Unlock()
	s.change.Broadcast()
}

func expired(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}

func (s *simStream) read(p []byte) (int, error) {
	for {
		switch {
		case s.shut != nil:
			return 0, s.shut
		case expired(s.readBy):
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		}
		var arrival time.Time
		if len(s.parts) > 0 {
			part := &s.parts[0]
			arrival = part.at
			if !arrival.IsZero() && !time.Now().Before(arrival) {
				return s.take(part, p)
			}
		}
		s.wait(&s.reader, arrival, s.readBy)
	}
}

// take reads from the first part, which has arrived.
func (s *simStream) take(part *simPart, p []byte) (int, error) {
	if part.end {
		return 0, io.EOF
	}
	n := copy(p, part.data)
	part.data = part.data[n:]
	if len(part.data) == 0 {
		s.parts = s.parts[1:]
	}
	s.bytes -= n
	s.change.Broadcast()
	return n, nil
}

func (s *simStream) write(p []byte) (n int, err error) {
	for {
		switch {
		case s.broken != nil:
			return n, s.broken
		case expired(s.writeBy):
			return n, os.ErrDeadlineExceeded
		case len(p) == 0:
			return n, nil
		}
		room := min(len(p), streamBytes-s.bytes)
		if room <= 0 {
			s.wait(&s.writer, time.Time{}, s.writeBy)
			continue
		}
		s.add(simPart{data: append([]byte(nil), p[:room]...)})
		s.bytes += room
		n, p = n+room, p[room:]
	}
}

// add sends a part.
func (s *simStream) add(part simPart) {
	if !s.link.cut {
		part.at = time.Now().Add(s.link.delay())
	}
	s.parts = append(s.parts, part)
	s.change.Broadcast()
}

// hold keeps back all parts that have not arrived.
func (s *simStream) hold() {
	now := time.Now()
	for i := range s.parts {
		if s.parts[i].at.After(now) {
			s.parts[i].at = time.Time{}
		}
	}
}

// release sends the parts held back.
func (s *simStream) release() {
	for i := range s.parts {
		if s.parts[i].at.IsZero() {
			s.parts[i].at = time.Now().Add(s.link.delay())
		}
	}
	s.refuse()
	s.change.Broadcast()
}

// fail ends both ends of the stream at once.
func (s *simStream) fail(err error) {
	s.failReader(err)
	s.failWriter(err)
}

// failReader ends the reader's end; the buffered bytes are lost.
func (s *simStream) failReader(err error) {
	if s.shut == nil {
		s.shut = err
	}
	s.parts = nil
	s.end()
}

func (s *simStream) failWriter(err error) {
	if s.broken == nil {
		s.broken = err
	}
	s.end()
}

// over reports whether both ends are closed.
func (s *simStream) over() bool { return s.shut != nil && s.broken != nil }

// end wakes all waiters, and forgets the stream when both ends are closed.
func (s *simStream) end() {
	if s.over() {
		for _, timer := range []*time.Timer{s.reader, s.writer} {
			if timer != nil {
				timer.Stop()
			}
		}
		delete(s.link.streams, s)
	}
	s.change.Broadcast()
}

// A simPair is the two directions of a connection, the dialing side's first.
type simPair struct{ there, back *simStream }

// A simConn is an end of a simulated connection.
type simConn struct {
	*simPair
	net           *simNet
	local, remote simAddr
	in, out       *simStream
}

// simAddr is HOST:PORT.
type simAddr string

func (a simAddr) Network() string { return "sim" }
func (a simAddr) String() string  { return string(a) }

func (c *simConn) Read(p []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	n, err := c.in.read(p)
	return n, c.wrap("read", err)
}

func (c *simConn) Write(p []byte) (int, error) {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	n, err := c.out.write(p)
	return n, c.wrap("write", err)
}

// wrap converts errors to errors of the net package.
func (c *simConn) wrap(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return &net.OpError{Op: op, Net: "sim", Source: c.local, Addr: c.remote, Err: err}
}

// Close ends the connection. The other side reads all bytes sent before, then the end; its
// writes fail once it has been notified.
func (c *simConn) Close() error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if c.out.broken == nil {
		c.out.add(simPart{end: true})
	}
	c.out.failWriter(net.ErrClosed)
	c.in.failReader(net.ErrClosed)
	c.in.refuse()
	c.net.untrack(c.simPair)
	return nil
}

// refuse notifies the writer of a stream without a reader, if the notification can reach
// it.
func (s *simStream) refuse() {
	if s.shut != nil && !s.link.cut && !s.link.reverse().cut {
		s.failWriter(syscall.EPIPE)
	}
}

func (c *simConn) LocalAddr() net.Addr  { return c.local }
func (c *simConn) RemoteAddr() net.Addr { return c.remote }

func (c *simConn) SetDeadline(t time.Time) error { return c.setDeadlines(&t, &t) }

func (c *simConn) SetReadDeadline(t time.Time) error { return c.setDeadlines(&t, nil) }

func (c *simConn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(nil, &t) }

func (c *simConn) setDeadlines(read, write *time.Time) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	if read != nil {
		c.in.readBy = *read
		c.in.change.Broadcast()
	}
	if write != nil {
		c.out.writeBy = *write
		c.out.change.Broadcast()
	}
	return nil
}
