package server

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Times for which a drain waits for bytes that this machine has received and the
// connection has not.
const (
	drainWindow = 10 * time.Millisecond
	drainRead   = 5 * time.Millisecond
)

// A socket is the connection below TLS, or of a plain client. At this level a drain sees
// whether all bytes that this machine has received are read.
type socket struct {
	net.Conn
	drainUntil   time.Time // end of the drain's reads; zero: not draining
	full         bool      // the last read filled its buffer
	bufferedOnly bool      // Read fails at once, so that TLS returns only bytes that it has buffered
}

// startDrain limits Read to bytes already received: it returns io.EOF after drainWindow,
// once a read has left room in its buffer.
func (s *socket) startDrain() {
	s.drainUntil = time.Now().Add(drainWindow)
	s.full = true // read at least once
}

func (s *socket) Read(p []byte) (int, error) {
	if s.bufferedOnly {
		return 0, os.ErrDeadlineExceeded
	}
	if !s.drainUntil.IsZero() {
		now := time.Now()
		if !s.full && now.After(s.drainUntil) {
			return 0, io.EOF
		}
		_ = s.SetReadDeadline(now.Add(max(drainRead, s.drainUntil.Sub(now))))
	}
	n, err := s.Conn.Read(p)
	s.full = n == len(p)
	return n, err
}

// hasUnread reports whether a nonblocking socket has received bytes that were not read.
func hasUnread(fd int) bool {
	var b [1]byte
	n, _, _ := syscall.Recvfrom(fd, b[:], syscall.MSG_PEEK)
	return n > 0
}
