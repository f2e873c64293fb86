package server

import (
	"net"
	"sync/atomic"
	"syscall"

	"limitsrv/commands"
)

// gauges are a connection's buffer sizes, for CLIENT LIST: written by the goroutine that
// uses the connection when they change, which they do not in steady state, and read by any.
type gauges struct {
	fd               int          // set before the session is made; -1: unknown
	query, queryRoom atomic.Int32 // bytes of the reader
	reply, writing   atomic.Int32 // bytes of a buffer for output that is kept
	replyPeak        atomic.Int32
	chunks           atomic.Int32 // of a backlog
	chunkBytes       atomic.Int64
}

// note stores n unless it is there.
func storeIfChanged(gauge *atomic.Int32, n int) {
	if gauge.Load() != int32(n) {
		gauge.Store(int32(n))
	}
}

// measure notes the reader's buffer size when the connection rests.
func (c *conn) recordSizes() {
	held := len(c.in.buf) + len(c.in.tail)
	storeIfChanged(&c.gauges.query, held)
	storeIfChanged(&c.gauges.queryRoom, cap(c.in.buf)+cap(c.in.tail)-held)
}

// ready notes the bytes of output that are about to be written.
func (g *gauges) recordOutput(bytes int) {
	if bytes > int(g.replyPeak.Load()) {
		g.replyPeak.Store(int32(bytes))
	}
}

// buffers tells of them.
func (c *conn) buffers() commands.Buffers {
	g := &c.gauges
	return commands.Buffers{
		FD: g.fd, Query: int64(g.query.Load()), QueryRoom: int64(g.queryRoom.Load()), Reply: int64(g.reply.Load()), ReplyPeak: int64(g.replyPeak.Load()),
		Writing: int64(g.writing.Load()), Chunks: int64(g.chunks.Load()), ChunkBytes: g.chunkBytes.Load(),
	}
}

// descriptor is that of a socket, -1 if it has none.
func descriptor(nc net.Conn) int {
	fd := -1
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			_ = raw.Control(func(n uintptr) { fd = int(n) })
		}
	}
	return fd
}
