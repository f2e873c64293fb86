package server

import (
	"errors"
	"net"
	"time"
)

// What a client is told that comes when there is no room: Redis' text.
const maxClientsReply = "-ERR max number of clients reached\r\n"

// How long accept waits after an error, most of all for want of file descriptors:
// twice as long each time.
const (
	minBackOff = 5 * time.Millisecond
	maxBackOff = time.Second
)

// accept hands the connections of ln to admit until Shutdown. An error is logged once
// until a connection has succeeded again.
func (s *Server) accept(ln net.Listener, admit func(net.Conn) error) {
	backOff := time.Duration(0)
	for {
		nc, err := ln.Accept()
		if err == nil {
			err = admit(nc)
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

// admit has the event loops, or goroutines, carry nc if there is room. An error is one
// of this machine, not of the client.
func (s *Server) admit(nc net.Conn) error {
	s.connections.Add(1)
	if !s.admitClient(nc) {
		return nil
	}
	err := s.plain.carry(nc)
	if err != nil {
		s.clients.Add(-1)
	}
	return err
}

// admitTLS does so with what is to be TLS. It takes room when the handshake is done; who
// comes when there is none is told nothing, as that would take one.
func (s *Server) admitTLS(nc net.Conn) error {
	s.connections.Add(1)
	if s.clients.Load() >= s.maxClients.Load() {
		s.rejected.Add(1)
		return nc.Close()
	}
	return s.secure.carry(nc)
}

// room counts nc as a client, or else tells it that there is no room and closes it.
func (s *Server) admitClient(nc net.Conn) bool {
	if s.clients.Add(1) <= s.maxClients.Load() {
		return true
	}
	s.clients.Add(-1)
	s.rejected.Add(1)
	_ = nc.SetWriteDeadline(time.Now().Add(time.Second)) // the buffer of a new socket has room
	_, _ = nc.Write([]byte(maxClientsReply))
	nc.Close()
	return false
}
