package server

import (
	"unsafe"

	"limitsrv/commands/resp"
)

// A workspace is memory that a connection needs only while it has work. An event loop lends
// its own to each connection in turn, so that an idle connection holds next to nothing.
type workspace struct {
	in  *resp.Pool
	out arena
}

// Sizes of a workspace: at first, and at most for the output, which grows.
const (
	lentBytes  = 64 << 10
	lentArgs   = 4 << 10
	lentOutput = 64 << 10
	keptOutput = 1 << 20
)

func newWorkspace() *workspace {
	return &workspace{in: resp.NewPool(lentBytes, lentArgs), out: arena{buf: make([]byte, 0, lentOutput)}}
}

// An arena holds the replies of a wake-up, of each connection in turn, until they are
// written.
type arena struct {
	buf     []byte // len is the part in use
	largest int    // largest output of a single connection
}

// minRoom returns the least room that the next connection must find.
func (a *arena) minRoom() int { return min(max(2*a.largest, lentOutput/4), keptOutput/2) }

// full reports whether the arena must be reset before it can lend.
func (a *arena) full() bool { return cap(a.buf)-len(a.buf) < a.minRoom() }

// lend returns all free room, to one connection at a time.
func (a *arena) lend() []byte { return a.buf[len(a.buf):] }

// claim reserves out, which was lent, until reset. If out has outgrown the arena, the
// next arena is larger.
func (a *arena) claim(out []byte) []byte {
	a.largest = max(a.largest, len(out))
	if n := len(a.buf); n < cap(a.buf) && unsafe.SliceData(out) == unsafe.SliceData(a.buf[n:n+1]) {
		a.buf = a.buf[:n+len(out)]
	}
	return out[:len(out):len(out)]
}

// reset frees all claimed memory. Requires: it has been written or copied.
func (a *arena) reset() {
	a.buf = a.buf[:0]
	if want := min(4*a.minRoom(), keptOutput); want > cap(a.buf) {
		a.buf = make([]byte, 0, want)
	}
}
