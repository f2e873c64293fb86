package server

import "unsafe"

// A workspace is memory that a connection needs only while it has work: an event
// loop lends its own to one connection after the other, so that an idle one holds
// next to nothing.
type workspace struct {
	in   chunkPool[byte]
	args chunkPool[[]byte]
	out  arena
}

// What a workspace has at first, and at most of that which grows with need.
const (
	lentBytes  = 64 << 10
	lentArgs   = 4 << 10
	lentOutput = 64 << 10
	keptArgs   = 32 << 10
	keptOutput = 1 << 20
	// maxSpare is how many chunks a lender keeps that nobody uses.
	maxFreeChunks = 8
)

func newWorkspace() *workspace {
	w := newInputWorkspace(lentBytes, lentArgs)
	w.out = arena{buf: make([]byte, 0, lentOutput)}
	return w
}

// newInputWorkspace has memory for input alone.
func newInputWorkspace(inBytes, args int) *workspace {
	return &workspace{in: chunkPool[byte]{size: inBytes, maxSize: inBytes}, args: chunkPool[[]byte]{size: args, maxSize: keptArgs}}
}

// A lender lends the free end of a chunk of memory to one borrower after the
// other, who pays it back before the next. One whose batch is away keeps what it
// has used, and others get what is behind that.
type chunkPool[T any] struct {
	size, maxSize int // of a chunk: now, and when borrowers need more
	chunk         *chunk[T]
	freeChunks    []*chunk[T]
}

// A chunk is memory of a lender. It is used again when no borrower keeps any of it.
type chunk[T any] struct {
	all, free []T // both of length 0; free is what no borrower keeps
	retained  int // how many do
}

// lend returns a slice of no length with a quarter of a chunk of room or more.
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

// another is a chunk that nobody uses.
func (l *chunkPool[T]) newChunk() *chunk[T] {
	if n := len(l.freeChunks); n > 0 {
		c := l.freeChunks[n-1]
		l.freeChunks = l.freeChunks[:n-1]
		return c
	}
	all := make([]T, 0, l.size)
	return &chunk[T]{all: all, free: all}
}

// moved says that the borrower has outgrown what it was lent, which then nobody
// gets any more, and sees to it that the next one gets as much as it has.
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

// keep lets the borrower keep mem until it releases the chunk. If it has outgrown
// what it was lent, it keeps all of that too.
func (l *chunkPool[T]) retain(mem []T) *chunk[T] {
	c, used := l.chunk, len(mem)
	if l.outgrown(mem) {
		used = cap(c.free)
	}
	c.free = c.free[used:used]
	c.retained++
	return c
}

// release says that a borrower is done with what it kept of a chunk.
func (l *chunkPool[T]) release(c *chunk[T]) {
	c.retained--
	if c.retained == 0 && c != l.chunk && cap(c.all) == l.size && len(l.freeChunks) < maxFreeChunks {
		c.free = c.all
		l.freeChunks = append(l.freeChunks, c)
	}
}

// forget gives up what is lent, to a borrower who will not pay it back.
func (l *chunkPool[T]) discard() { l.chunk = nil }

// An arena is where the replies of a wake-up are put, those of one connection
// behind those of the other, until they are written.
type arena struct {
	buf     []byte // len is what is taken
	largest int    // the most that one connection wanted
}

// room is how much the next connection is to find at least.
func (a *arena) minRoom() int { return min(max(2*a.largest, lentOutput/4), keptOutput/2) }

// full says that the arena is to be emptied before it lends.
func (a *arena) full() bool { return cap(a.buf)-len(a.buf) < a.minRoom() }

// lend returns all room there is, to one connection at a time.
func (a *arena) lend() []byte { return a.buf[len(a.buf):] }

// take keeps out, which was lent, until empty. Where it has outgrown the arena,
// the next one to be lent is larger.
func (a *arena) claim(out []byte) []byte {
	a.largest = max(a.largest, len(out))
	if n := len(a.buf); n < cap(a.buf) && unsafe.SliceData(out) == unsafe.SliceData(a.buf[n:n+1]) {
		a.buf = a.buf[:n+len(out)]
	}
	return out[:len(out):len(out)]
}

// empty forgets all that was taken: it is written, or elsewhere.
func (a *arena) reset() {
	a.buf = a.buf[:0]
	if want := min(4*a.minRoom(), keptOutput); want > cap(a.buf) {
		a.buf = make([]byte, 0, want)
	}
}
