package server

import "unsafe"

// A workspace is memory that a connection needs only while it has work. An event loop
// lends its own to one connection after the other, so that an idle connection holds next
// to nothing.
type workspace struct {
	in   chunkPool[byte]
	args chunkPool[[]byte]
	out  arena
}

// Sizes of a workspace: at first, and at most for the parts that grow.
const (
	lentBytes  = 64 << 10
	lentArgs   = 4 << 10
	lentOutput = 64 << 10
	keptArgs   = 32 << 10
	keptOutput = 1 << 20
	// maxFreeChunks bounds the unused chunks that a pool keeps.
	maxFreeChunks = 8
)

func newWorkspace() *workspace {
	w := newInputWorkspace(lentBytes, lentArgs)
	w.out = arena{buf: make([]byte, 0, lentOutput)}
	return w
}

// newInputWorkspace creates a workspace without an arena.
func newInputWorkspace(inBytes, args int) *workspace {
	return &workspace{in: chunkPool[byte]{size: inBytes, maxSize: inBytes}, args: chunkPool[[]byte]{size: args, maxSize: keptArgs}}
}

// A chunkPool lends the free end of a chunk of memory to one borrower at a time. A
// borrower with a batch in flight retains its part, and the next one gets the rest of
// the chunk.
type chunkPool[T any] struct {
	size, maxSize int // of a chunk: now, and at most when borrowers need more
	chunk         *chunk[T]
	freeChunks    []*chunk[T]
}

// A chunk is memory of a pool. It is reused when no borrower retains part of it.
type chunk[T any] struct {
	all, free []T // both of length 0; free is the part that no borrower retains
	retained  int // number of borrowers that retain a part
}

// lend returns an empty slice with a capacity of at least a quarter of a chunk.
func (l *chunkPool[T]) lend() []T {
	switch {
	case l.chunk == nil:
		l.chunk = l.newChunk()
	case l.chunk.retained == 0:
		l.chunk.free = l.chunk.all
	case cap(l.chunk.free) < l.size/4:
		l.chunk = l.newChunk()
	}
	return l.chunk.free
}

// newChunk returns an unused chunk.
func (l *chunkPool[T]) newChunk() *chunk[T] {
	if n := len(l.freeChunks); n > 0 {
		c := l.freeChunks[n-1]
		l.freeChunks = l.freeChunks[:n-1]
		return c
	}
	all := make([]T, 0, l.size)
	return &chunk[T]{all: all, free: all}
}

// outgrown reports whether the borrower has reallocated its memory. The pool then drops
// the chunk, and makes the next one large enough for such a borrower.
func (l *chunkPool[T]) outgrown(mem []T) bool {
	if unsafe.SliceData(mem) == unsafe.SliceData(l.chunk.free) {
		return false
	}
	l.chunk = nil
	if need := min(4*cap(mem), l.maxSize); need > l.size {
		l.size, l.freeChunks = need, nil
	}
	return true
}

// retain reserves mem for the borrower until it releases the chunk. If the borrower has
// outgrown the loan, the whole chunk is reserved.
func (l *chunkPool[T]) retain(mem []T) *chunk[T] {
	c, used := l.chunk, len(mem)
	if l.outgrown(mem) {
		used = cap(c.free)
	}
	c.free = c.free[used:used]
	c.retained++
	return c
}

// release ends a borrower's use of its part of a chunk.
func (l *chunkPool[T]) release(c *chunk[T]) {
	c.retained--
	if c.retained == 0 && c != l.chunk && cap(c.all) == l.size && len(l.freeChunks) < maxFreeChunks {
		c.free = c.all
		l.freeChunks = append(l.freeChunks, c)
	}
}

// discard drops the lent chunk, because its borrower will not return it.
func (l *chunkPool[T]) discard() { l.chunk = nil }

// An arena holds the replies of a wake-up, one connection after the other, until they are
// written.
type arena struct {
	buf     []byte // len is the part in use
	largest int    // largest output of one connection
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
