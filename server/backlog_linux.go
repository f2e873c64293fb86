package server

import "syscall"

// Bounds of the size of a backlog chunk. The first chunk is as large as the output that
// begins the backlog, within these bounds.
const (
	minBacklogChunk = 1 << 10
	maxBacklogChunk = 64 << 10
)

// sentAtOnce bounds the bytes that a connection sends in a wake-up, because the socket of a client
// that reads fast never fills, and other clients wait meanwhile.
const sentAtOnce = 256 << 10

// A backlog is the output that a client has not taken yet, in the order of writing. Its
// zero value is empty. It takes at most two chunks more than its bytes, which are copied
// once.
type backlog struct {
	chunks [][]byte
	head   int // bytes of the first chunk that are written
	bytes  int // bytes not written yet
}

func (b *backlog) add(out []byte) {
	b.bytes += len(out)
	for len(out) > 0 {
		last := len(b.chunks) - 1
		if last < 0 || len(b.chunks[last]) == cap(b.chunks[last]) {
			size := maxBacklogChunk
			if last < 0 {
				size = min(max(len(out), minBacklogChunk), maxBacklogChunk)
			}
			b.chunks = append(b.chunks, make([]byte, 0, size))
			last++
		}
		c := b.chunks[last]
		n := copy(c[len(c):cap(c)], out)
		b.chunks[last] = c[:len(c)+n]
		out = out[n:]
	}
}

// write writes until the backlog is empty, sentAtOnce is reached or the socket returns an error, and
// returns the number of bytes written. An errno of 0 means that the backlog is empty.
func (b *backlog) write(fd int) (written int, errno syscall.Errno) {
	for len(b.chunks) > 0 {
		if written >= sentAtOnce {
			return written, syscall.EAGAIN
		}
		n, errno := writeNow(fd, b.chunks[0][b.head:])
		switch errno {
		case 0:
		case syscall.EINTR:
			continue
		default:
			return written, errno
		}
		b.consume(n)
		written += n
	}
	*b = backlog{}
	return written, 0
}

// consume marks n bytes of the first chunk as written.
func (b *backlog) consume(n int) {
	b.bytes -= n
	if b.head += n; b.head == len(b.chunks[0]) {
		b.chunks[0] = nil
		b.chunks, b.head = b.chunks[1:], 0
	}
}
