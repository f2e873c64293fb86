//go:build !linux

package server

func newTransport(e *env) (carrier, error) { return newGoroutines(e), nil }
