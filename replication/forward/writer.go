package forward

import (
	"encoding/binary"
	"fmt"
	"net"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// A frame of requests is the number of the first batch, in 8 bytes, and a persist.Entry
// with all batches, stamped 0. Further batches have consecutive numbers.
const requestHead = 8

// A writer writes the requests of a link.
type writer struct {
	link  *leaderLink
	conn  net.Conn
	spare []Request // memory for later requests
	entry persist.Entry
	frame []byte
}

// maxKeptRequests bounds the memory for requests that is reused.
const maxKeptRequests = 4096

// run writes waiting requests until the link is over. Requests that it took and did not
// write are refused.
func (w *writer) run() {
	for range w.link.wake {
		requests, ok := w.take()
		left := requests
		for ok && len(left) > 0 {
			var n int
			n, ok = w.write(left)
			left = left[n:]
		}
		refuseAll(left)
		clear(requests)
		if w.spare = requests[:0]; cap(w.spare) > maxKeptRequests {
			w.spare = nil
		}
		if !ok {
			return
		}
	}
}

// take returns all waiting requests; false: the link is over.
func (w *writer) take() ([]Request, bool) {
	k := w.link
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return nil, false
	}
	requests := k.waiting
	k.waiting = w.spare
	return requests, true
}

// write writes one frame, of about bufferBytes bytes or one request, and returns the
// number of requests handled; false: the link is over.
func (w *writer) write(requests []Request) (n int, ok bool) {
	w.entry.Reset()
	size := 0
	for n < len(requests) {
		b := requests[n].Batch
		size += sizeBound(b)
		unfit := len(b.Ops) == 0 || len(b.Ops) > maxOps || size > maxRequestBytes
		if n > 0 && (unfit || size > bufferBytes) {
			break
		}
		if unfit {
			w.link.complete(requests[0], tooLargeError(len(b.Ops), size))
			return 1, true
		}
		w.entry.Append(0, b)
		n++
	}
	seq, ok := w.link.assignNumbers(requests[:n])
	if !ok {
		return 0, false
	}
	frame := binary.BigEndian.AppendUint32(w.frame[:0], uint32(requestHead+w.entry.Len()))
	frame = binary.BigEndian.AppendUint64(frame, seq)
	frame = append(frame, w.entry.Bytes()...)
	_, err := w.conn.Write(frame)
	if w.frame = frame; cap(frame) > link.MaxKeptFrame {
		w.frame, w.entry = nil, persist.Entry{}
	}
	return n, err == nil
}

// tooLargeError is the answer to a request that fits no frame; nil for one without ops.
func tooLargeError(ops, size int) error {
	if ops == 0 {
		return nil
	}
	return link.NewError("ERR", fmt.Sprintf("the request has %d operations and up to %d bytes, %d and %d can be forwarded at most",
		ops, size, maxOps, maxRequestBytes))
}

// sizeBound returns an upper bound on the size of a batch in an entry.
func sizeBound(b *engine.Batch) int {
	const (
		head = 3                        // including the version
		most = 3 + 2 + 3*9 + 10 + 2 + 2 // per op, without the bytes of key and id
	)
	size := head
	for i := range b.Ops {
		size += most + len(b.Ops[i].Key) + len(b.Ops[i].ID)
	}
	return size
}
