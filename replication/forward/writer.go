package forward

import (
	"encoding/binary"
	"net"

	"limitsrv/persist"
	"limitsrv/replication/link"
)

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

// write writes a frame, of about bufferBytes bytes or a request, and returns the number of
// requests handled; false: the link is over.
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
		b.Level = forwardedLevel
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
