package server

import "unsafe"

// A workspace is memory that a connection needs only while it has work: an event
// loop lends its own to one connection after the other, so that an idle one holds
// next to nothing.
type workspace struct {
	in   lender[byte]
	args lender[[]byte]
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
	maxSpare = 8
)

func newWorkspace() *workspace {
	w := newInputWorkspace(lentBytes, lentArgs)
	w.out = arena{buf: make([]byte, 0, lentOutput)}
	return w
}

// newInputWorkspace has memory for input alone.
func newInputWorkspace(inBytes, args int) *workspace {
	return &workspace{in: lender[byte]{size: inBytes, most: inBytes}, args: lender[[]byte]{size: args, most: keptArgs}}
}

// A lender lends the free end of a chunk of memory to one borrower after the
// other, who pays it back before the next. One whose batch is away keeps what it
// has used, and others get what is behind that.
type lender[T any] struct {
	size, most int // of a chunk: now, and when borrowers need more
	chunk      *chunk[T]
	spare      []*chunk[T]
}

// A chunk is memory of a lender. It is used again when no borrower keeps any of it.
type chunk[T any] struct {
	all, free []T // both of length 0; free is what no borrower keeps
	kept      int // how many do
}

// lend returns a slice of no length with a quarter of a chunk of room or more.
func (l *lender[T]) lend() []T {
	switch {
	case l.chunk == nil:
		l.chunk = l.another()
	case l.chunk.kept == 0:
		l.chunk.free = l.chunk.all
	case cap(l.chunk.free) < l.size/4:
		l.chunk = l.another()
	}
	return l.chunk.free
}

// another is a chunk that nobody uses.
func (l *lender[T]) another() *chunk[T] {
	if n := len(l.spare); n > 0 {
		c := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return c
	}
	all := make([]T, 0, l.size)
	return &chunk[T]{all: all, free: all}
}

// moved says that the borrower has outgrown what it was lent, which then nobody
// gets any more, and sees to it that the next one gets as much as it has.
func (l *lender[T]) moved(mem []T) bool {
	if unsafe.SliceData(mem) == unsafe.SliceData(l.chunk.free) {
		return false
	}
	l.chunk = nil
	if need := min(4*cap(mem), l.most); need > l.size {
		l.size, l.spare = need, nil
	}
	return true
}

// keep lets the borrower keep mem until it releases the chunk. If it has outgrown
// what it was lent, it keeps all of that too.
func (l *lender[T]) keep(mem []T) *chunk[T] {
	c, used := l.chunk, len(mem)
	if l.moved(mem) {
		used = cap(c.free)
	}
	c.free = c.free[used:used]
	c.kept++
	return c
}

// release says that a borrower is done with what it kept of a chunk.
func (l *lender[T]) release(c *chunk[T]) {
	c.kept--
	if c.kept == 0 && c != l.chunk && cap(c.all) == l.size && len(l.spare) < maxSpare {
		c.free = c.all
		l.spare = append(l.spare, c)
	}
}

// forget gives up what is lent, to a borrower who will not pay it back.
func (l *lender[T]) forget() { l.chunk = nil }

// An arena is where the replies of a wake-up are put, those of one connection
// behind those of the other, until they are written.
type arena struct {
	buf  []byte // len is what is taken
	most int    // the most that one connection wanted
}

// room is how much the next connection is to find at least.
func (a *arena) room() int { return min(max(2*a.most, lentOutput/4), keptOutput/2) }

// full says that the arena is to be emptied before it lends.
func (a *arena) full() bool { return cap(a.buf)-len(a.buf) < a.room() }

// lend returns all room there is, to one connection at a time.
func (a *arena) lend() []byte { return a.buf[len(a.buf):] }

// take keeps out, which was lent, until empty. Where it has outgrown the arena,
// the next one to be lent is larger.
func (a *arena) take(out []byte) []byte {
	a.most = max(a.most, len(out))
	if n := len(a.buf); n < cap(a.buf) && unsafe.SliceData(out) == unsafe.SliceData(a.buf[n:n+1]) {
		a.buf = a.buf[:n+len(out)]
	}
	return out[:len(out):len(out)]
}

// empty forgets all that was taken: it is written, or elsewhere.
func (a *arena) empty() {
	a.buf = a.buf[:0]
	if want := min(4*a.room(), keptOutput); want > cap(a.buf) {
		a.buf = make([]byte, 0, want)
	}
}
