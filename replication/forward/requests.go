package forward

import (
	"errors"
	"fmt"

	"limitsrv/engine"
	"limitsrv/replication/link"
)

// A Request is a batch and its callback. The batch must not be touched until Done is
// called.
type Request struct {
	Batch *engine.Batch
	Done  func(error)
}

// ErrNotAccepted: a batch was certainly not applied, and may be retried elsewhere.
var ErrNotAccepted = errors.New("the leader did not accept the request")

// refuseAll answers requests with ErrNotAccepted.
func refuseAll(requests []Request) {
	for _, r := range requests {
		r.Done(ErrNotAccepted)
	}
}

// A frame of requests is the number of the first batch, in 8 bytes, and a persist.Entry
// with all batches, stamped 0. Further batches have consecutive numbers.
const requestHead = 8

// forwardedLevel is the Level of forwarded batches, which every node supports. The leader
// sets the Level of the entry.
const forwardedLevel = 1

// Bounds of forwarding.
const (
	// maxOps bounds the ops that wait for one leader, written or not, and the ops
	// of a forwarded batch.
	maxOps = 1 << 18
	// maxRequestBytes bounds a frame.
	maxRequestBytes = 32 << 20
	// bufferBytes is the size of buffers, and of single reads and writes.
	bufferBytes = 256 << 10
	// maxAnswerBytes bounds an answer: one of maxOps decisions takes less.
	maxAnswerBytes = 32 << 20
)

// tooLargeError is the answer to a request that fits no frame; nil for a request without
// ops.
func tooLargeError(ops, size int) error {
	if ops == 0 {
		return nil
	}
	return link.NewError("ERR",
		fmt.Sprintf("the request has %d operations and up to %d bytes, %d and %d can be forwarded at most",
			ops, size, maxOps, maxRequestBytes))
}

// sizeBound returns an upper bound on the size of a batch in an entry.
func sizeBound(b *engine.Batch) int {
	const (
		head = 4                                // including the version
		most = 3 + 2 + 1 + 3*9 + 3 + 10 + 2 + 2 // per op, without the bytes of key and id
		call = 3 + 5                            // per call, besides that, without its arguments
		arg  = 5                                // per argument, without its bytes
	)
	size := head
	for i := range b.Ops {
		size += most + len(b.Ops[i].Key) + len(b.Ops[i].ID)
	}
	for i := range b.Calls {
		size += call
		for _, a := range b.Calls[i].Args {
			size += arg + len(a)
		}
	}
	return size
}

// signal wakes the receiver of c, or lets its next receive pass.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
