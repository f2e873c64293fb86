package server

import (
	"io"
	"net"
	"os"
	"time"
)

// How long a drain waits for bytes that are already here but not yet found.
const (
	drainWindow = 10 * time.Millisecond
	drainRead   = 5 * time.Millisecond
)

// A socket is what a connection of a goroutine is carried by, below TLS if there is
// any: it is where a drain sees whether all is read that this machine has received.
type socket struct {
	net.Conn
	drainUntil   time.Time // until when a drain looks for bytes; zero: none has been noticed
	full         bool      // the last read found no room left over
	bufferedOnly bool      // Read is to give nothing, at once: TLS is asked for what it has
}

// look has Read take only what is here, and then give the end: for drainWindow, and
// until it finds room left over.
func (s *socket) startDrain() {
	s.drainUntil = time.Now().Add(drainWindow)
	s.full = true // look at least once
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
		_ = s.SetReadDeadline(later(s.drainUntil, now.Add(drainRead)))
	}
	n, err := s.Conn.Read(p)
	s.full = n == len(p)
	return n, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
