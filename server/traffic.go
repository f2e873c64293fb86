package server

import "sync/atomic"

// A traffic counts the bytes of some connections. Each event loop has a traffic of its own,
// in a cache line of its own, to avoid contention.
type traffic struct {
	in, out atomic.Int64
	_       [48]byte
}
