package server

import (
	"errors"
	"net"
	"time"
)

// Bounds of the pause after a failed accept, most often because file descriptors ran out.
// It doubles with each failure.
const (
	minBackOff = 5 * time.Millisecond
	maxBackOff = time.Second
)

// accept passes the connections of ln to admit until Shutdown. An error is logged once
// until a connection has been accepted again.
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
			s.log.Error("accept failed, retrying", "addr", ln.Addr().String(), "error", err)
		}
		backOff = min(max(2*backOff, minBackOff), maxBackOff)
		select {
		case <-time.After(backOff):
		case <-s.closing:
			return
		}
	}
}

// admit passes nc to the plain transport if the server is below MaxClients. An error is a
// fault of this machine, not of the client.
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

// admitTLS passes nc to the TLS transport, which counts it as a client after the
// handshake. A connection beyond MaxClients is closed without a reply, because a reply
// would need a handshake.
func (s *Server) admitTLS(nc net.Conn) error {
	s.connections.Add(1)
	if s.clients.Load() >= s.maxClients.Load() {
		s.rejected.Add(1)
		return nc.Close()
	}
	return s.secure.carry(nc)
}
