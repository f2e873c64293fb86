package server

import (
	"net"
	"sync/atomic"
	"syscall"

	"limitsrv/commands/session"
)

// gauges are the buffer sizes of a connection, for CLIENT LIST. The goroutine that uses
// the connection writes them when they change, which they do not in steady state; any
// goroutine may read them.
type gauges struct {
	fd               int          // set before the session is made; -1: unknown
	query, queryRoom atomic.Int32 // bytes used and free in the reader
	reply, writing   atomic.Int32 // bytes of the retained output buffer, and of the output being written
	replyPeak        atomic.Int32
	chunks           atomic.Int32 // of the backlog
	chunkBytes       atomic.Int64
}

// storeIfChanged stores n unless the gauge already has that value.
func storeIfChanged(gauge *atomic.Int32, n int) {
	if gauge.Load() != int32(n) {
		gauge.Store(int32(n))
	}
}

// recordSizes records the size of the reader's buffers, when the connection has no work.
func (c *conn) recordSizes() {
	storeIfChanged(&c.gauges.query, c.in.Held())
	storeIfChanged(&c.gauges.queryRoom, c.in.Room())
}

// recordOutput records the number of bytes about to be written.
func (g *gauges) recordOutput(bytes int) {
	if bytes > int(g.replyPeak.Load()) {
		g.replyPeak.Store(int32(bytes))
	}
}

// buffers returns the gauges as CLIENT LIST needs them.
func (c *conn) buffers() session.Buffers {
	g := &c.gauges
	return session.Buffers{
		FD: g.fd, Query: int64(g.query.Load()), QueryRoom: int64(g.queryRoom.Load()), Reply: int64(g.reply.Load()),
		ReplyPeak: int64(g.replyPeak.Load()),
		Writing:   int64(g.writing.Load()), Chunks: int64(g.chunks.Load()), ChunkBytes: g.chunkBytes.Load(),
	}
}

// descriptor returns the descriptor of a socket, or -1 if it has no descriptor.
func descriptor(nc net.Conn) int {
	fd := -1
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			_ = raw.Control(func(n uintptr) { fd = int(n) })
		}
	}
	return fd
}
