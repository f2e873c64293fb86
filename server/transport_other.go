//go:build !linux

package server

func newTransport(e *env) (transport, error) { return newGoroutines(e), nil }
