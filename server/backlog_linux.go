package server

import "syscall"

// What waits for a client is kept in chunks of these sizes: as large as what came
// first, within the two.
const (
	minBacklogChunk = 1 << 10
	maxBacklogChunk = 64 << 10
)

// A backlog is output that waits for a client, in the order in which it is to be
// written. Its zero value is empty. It takes no more than two chunks beyond its bytes,
// which are copied once.
type backlog struct {
	chunks [][]byte
	head   int // bytes of the first chunk that are written
	bytes  int // that wait
}

// add puts out at the end.
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

// write gives the descriptor as much as it takes, and says how much that was. An
// errno of 0 says that nothing waits any more.
func (b *backlog) write(fd int) (written int, errno syscall.Errno) {
	for len(b.chunks) > 0 {
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

// took says that so many bytes of the first chunk are written.
func (b *backlog) consume(n int) {
	b.bytes -= n
	if b.head += n; b.head == len(b.chunks[0]) {
		b.chunks[0] = nil
		b.chunks, b.head = b.chunks[1:], 0
	}
}
