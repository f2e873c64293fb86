//go:build !linux

package server

func newTransport(s *Server) (transport, error) { return newGoroutines(s), nil }
