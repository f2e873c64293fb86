package server

import (
	"errors"
	"net"
	"time"
)

// What a client is told that comes when there is no room: Redis' text.
const noRoom = "-ERR max number of clients reached\r\n"

// How long accept waits after an error, most of all for want of file descriptors:
// twice as long each time.
const (
	minBackOff = 5 * time.Millisecond
	maxBackOff = time.Second
)

// accept hands the connections of ln to the transport until Shutdown. An error is
// logged once until a connection has succeeded again.
func (s *Server) accept(ln net.Listener) {
	backOff := time.Duration(0)
	for {
		nc, err := ln.Accept()
		if err == nil {
			err = s.admit(nc)
		}
		if err == nil {
			backOff = 0
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if backOff == 0 {
			s.log.Error("cannot accept connections for now", "addr", ln.Addr().String(), "err", err)
		}
		backOff = min(max(2*backOff, minBackOff), maxBackOff)
		select {
		case <-time.After(backOff):
		case <-s.closing:
			return
		}
	}
}

// admit has the transport carry nc if there is room. An error is one of this
// machine, not of the client.
func (s *Server) admit(nc net.Conn) error {
	s.connections.Add(1)
	if s.clients.Add(1) > s.maxClients.Load() {
		s.clients.Add(-1)
		s.rejected.Add(1)
		_ = nc.SetWriteDeadline(time.Now().Add(time.Second)) // the buffer of a new socket has room
		_, _ = nc.Write([]byte(noRoom))
		nc.Close()
		return nil
	}
	err := s.transport.carry(nc)
	if err != nil {
		s.clients.Add(-1)
	}
	return err
}
