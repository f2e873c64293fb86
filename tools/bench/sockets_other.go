//go:build !linux

package main

import "time"

// sockets are the connections of a load, for one goroutine that waits for all of them at once:
// a goroutine for each reads replies, whenever a pipeline has been sent.
//
// Concurrency: not safe for concurrent use.
type sockets struct {
	conns    []*loadConn
	reading  []bool // the goroutine of a connection waits for bytes
	arrivals chan arrival
}

// An arrival is the result of a read of a connection.
type arrival struct {
	conn, size int
	err        error
}

func newSockets(conns []*loadConn) (*sockets, error) {
	return &sockets{conns: conns, reading: make([]bool, len(conns)), arrivals: make(chan arrival, len(conns))}, nil
}

// preciseTimers does nothing, because there is no portable way.
func preciseTimers() {}

// send sends b over connection i. It waits if the server does not read.
func (s *sockets) send(i int, b []byte) error {
	_, err := s.conns[i].conn.Write(b)
	if err == nil && !s.reading[i] {
		s.read(i)
	}
	return err
}

// read reads connection i once, in a goroutine of its own.
func (s *sockets) read(i int) {
	s.reading[i] = true
	go func() {
		size, err := s.conns[i].conn.Read(s.conns[i].buf)
		s.arrivals <- arrival{i, size, err}
	}()
}

// receive waits for replies, at most until the given time, and calls each with the bytes
// that have arrived on a connection or the error of reading them. It returns the error of
// each.
func (s *sockets) receive(until time.Time, each func(conn int, got []byte, err error) error) error {
	select {
	case a := <-s.arrivals:
		err := each(a.conn, s.conns[a.conn].buf[:a.size], a.err)
		if err == nil {
			s.read(a.conn)
		}
		return err
	case <-time.After(time.Until(until)):
		return nil
	}
}

// close closes the connections.
func (s *sockets) close() { closeConns(s.conns) }
