package server

import "sync/atomic"

// A traffic counts the bytes of some of the connections. Each event loop has its
// own, in a cache line of its own, so that counting costs the loops nothing.
type traffic struct {
	in, out atomic.Int64
	_       [48]byte
}
