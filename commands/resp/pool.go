package resp

import "unsafe"

// A Pool lends input buffers and room for arguments to each reader in turn, so that an idle
// connection holds next to nothing. Concurrency: not safe for concurrent use.
type Pool struct {
	in   chunkPool[byte]
	args chunkPool[[]byte]
}

const (
	// keptArgs bounds the arguments in a chunk of a pool, which grows with need.
	keptArgs = 32 << 10
	// maxFreeChunks bounds the unused chunks that a pool keeps.
	maxFreeChunks = 8
)

// NewPool makes a pool of chunks of inBytes bytes and, at first, of that number of
// arguments.
func NewPool(inBytes, args int) *Pool {
	return &Pool{in: chunkPool[byte]{size: inBytes, maxSize: inBytes},
		args: chunkPool[[]byte]{size: args, maxSize: keptArgs}}
}

// Discard drops the lent memory, because its reader will not return it.
func (p *Pool) Discard() {
	p.in.discard()
	p.args.discard()
}

// A chunkPool lends the free end of a chunk of memory to one borrower at a time. A borrower
// with a batch in flight retains its part, and the next borrower gets the rest of the
// chunk.
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

// outgrown reports whether the borrower has reallocated its memory. The pool then drops the
// chunk, and makes the next chunk large enough for such a borrower.
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
