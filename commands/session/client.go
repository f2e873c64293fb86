package session

import "time"

// A Client is the transport's description of a connection.
type Client struct {
	Addr, LocalAddr string // in the form of CLIENT LIST; a unix socket is PATH:0
	Since           time.Time
	Close           func() // asks the transport to close the connection (CLIENT KILL); any goroutine may call it
	// Wake asks the transport, from any goroutine, to call Resume: a batch in flight has
	// completed, or other sessions have sent messages.
	Wake func()
	// OutputBytes bounds, in bytes, the pushed messages that the client has not read, and the
	// answer of a command that only reads. 0: messages are unbounded, and an answer has at most
	// engine.MaxAnswerBytes.
	OutputBytes int
	// Buffers returns the sizes of the transport's buffers. Any goroutine may call it;
	// nil: unknown.
	Buffers func() Buffers
}

// Buffers are the sizes of a connection's buffers in the transport, in bytes except FD
// and Chunks. A connection that is being served reports its previous sizes.
type Buffers struct {
	FD         int   // file descriptor of its socket; -1: unknown
	Query      int64 // received and not yet executed
	QueryRoom  int64 // free capacity after Query
	Reply      int64 // capacity of the connection's own reply buffer
	ReplyPeak  int64 // maximum size of pending replies since the connection began
	Writing    int64 // pending replies in the reply buffer
	Chunks     int64 // number of further chunks of pending replies
	ChunkBytes int64 // bytes in these chunks
}

// Network counts connections and bytes of clients since the start of the server.
type Network struct {
	Rejected     int64 // closed because --max-clients was reached
	RejectedHTTP int64 // closed because the client sent HTTP
	InputBytes   int64
	OutputBytes  int64
}
