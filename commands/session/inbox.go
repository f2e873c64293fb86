package session

import (
	"sync"
	"sync/atomic"

	"limitsrv/commands/resp"
)

// An inbox holds the messages for a session that it has not written yet. Concurrency: any
// number of goroutines may use it.
type inbox struct {
	client *Client     // its OutputBytes bounds the inbox
	room   *Room       // counts the bytes of the inbox
	proto3 atomic.Bool // form of the messages

	mu     sync.Mutex
	bytes  []byte
	rung   bool // Wake was called since bytes was taken
	closed bool // accepts no more messages
}

// keptInbox is the largest capacity, in bytes, of an inbox that is kept for the next
// message.
const keptInbox = 4 << 10

// send adds a message. It never blocks. It closes the connection if the unread messages would
// exceed OutputBytes, or CrowdedBytes while the Room is full.
func (in *inbox) send(m resp.Message) {
	bytes := m.In(in.proto3.Load())
	most := in.client.OutputBytes
	if in.room.Full() && (most == 0 || most > CrowdedBytes) {
		most = CrowdedBytes
	}
	in.mu.Lock()
	full := !in.closed && most > 0 && len(in.bytes)+len(bytes) > most
	ring := !full && !in.closed && !in.rung
	if full {
		in.closed = true
	}
	if !in.closed {
		in.bytes = append(in.bytes, bytes...)
		in.room.Add(int64(len(bytes)))
		in.rung = true
	}
	in.mu.Unlock()
	if full {
		in.client.Close()
	}
	if ring {
		in.client.Wake()
	}
}

// moveTo appends the messages to out and empties the inbox.
func (in *inbox) moveTo(out []byte) []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	out = append(out, in.bytes...)
	in.room.Add(-int64(len(in.bytes)))
	in.bytes, in.rung = in.bytes[:0], false
	if cap(in.bytes) > keptInbox {
		in.bytes = nil
	}
	return out
}

// close drops the messages and all later messages.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.room.Add(-int64(len(in.bytes)))
	in.bytes, in.closed = nil, true
}
