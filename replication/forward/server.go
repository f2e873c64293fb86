package forward

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/replication/link"
)

// Bounds of one link on the leader's side.
const (
	// maxHeldBytes bounds the bytes read and not yet answered on the wire. Beyond it
	// reading pauses; a frame may exceed it.
	maxHeldBytes = 16 << 20
	// heldPerOp is the memory counted per op besides key and id: it includes the decision.
	heldPerOp = 200
	// heldPerArg is the memory counted per argument of a call besides its bytes.
	heldPerArg = 24
	// Bounds of the pool: the number of forwardedBatches, and the ops and key bytes of
	// each.
	maxKeptBatches = 256
	maxKeptOps     = 1024
	maxKeptKeys    = 64 << 10
)

// A Server executes batches forwarded by other nodes. Concurrency: its functions
// are called by many goroutines.
type Server struct {
	// Do executes the batches that were read at once. It must not block for long. It must call
	// the Done of each once, from any goroutine, and not touch the batch after that. It must not
	// keep the slice.
	Do func([]Request)
	// Timeout bounds the other node's reading of an answer.
	Timeout time.Duration
	// Commands checks calls; nil: there are no calls.
	Commands engine.Commands
}

// A servedLink executes the batches forwarded by one other node.
type servedLink struct {
	Server
	conn      net.Conn
	decoder   persist.Decoder
	received  []Request     // to be executed; only read uses it
	roomFreed chan struct{} // held has decreased
	wake      chan struct{} // there is something to write, or the link is over

	mu   sync.Mutex
	over bool
	held int    // bytes of requests without a written answer, plus the answers in out
	out  []byte // answers to write
	owed int    // part of held that out answers
	free []*forwardedBatch
}

// A forwardedBatch is a batch with its own memory.
type forwardedBatch struct {
	server *servedLink
	batch  engine.Batch
	bytes  []byte // of keys and ids
	seq    uint64
	held   int
	done   func(error) // answer, created once
}

// Serve executes the batches of a link until it breaks, a frame is invalid, or conn is
// closed, and returns the reason. It closes conn.
func (f Server) Serve(conn net.Conn) error {
	s := &servedLink{Server: f, conn: conn, roomFreed: make(chan struct{}, 1), wake: make(chan struct{}, 1)}
	s.decoder = s.newDecoder()
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write()
	}()
	err := s.read()
	s.stop()
	<-written
	return err
}

func (s *servedLink) newDecoder() persist.Decoder {
	return persist.Decoder{MaxOps: maxOps, Commands: s.Commands}
}

func (s *servedLink) stop() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.conn.Close()
	signal(s.wake)
	signal(s.roomFreed)
}

// read reads and executes frames until a frame is invalid or the link is over.
func (s *servedLink) read() error {
	frames := link.NewFrameReader(bufio.NewReaderSize(s.conn, bufferBytes), requestHead+maxRequestBytes)
	for {
		frame, err := frames.Next()
		if err != nil {
			return err
		}
		err = s.readFrame(frame)
		if err != nil || !frames.Ready() || s.isFull() {
			s.Do(s.received)
			clear(s.received)
			s.received = s.received[:0]
		}
		if err != nil {
			return link.Garbled("a forwarded frame is invalid: " + err.Error())
		}
		if len(frame) > link.MaxKeptFrame {
			s.decoder = s.newDecoder()
		}
		if !s.waitForRoom() {
			return net.ErrClosed
		}
	}
}

// readFrame adds the batches of a frame to received.
func (s *servedLink) readFrame(frame []byte) error {
	if len(frame) < requestHead {
		return fmt.Errorf("a frame of %d bytes", len(frame))
	}
	seq := binary.BigEndian.Uint64(frame)
	return s.decoder.Decode(frame[requestHead:], func(stamp engine.Instant, b *engine.Batch) error {
		if stamp != 0 {
			return errors.New("a batch with a time")
		}
		own := s.copyBatch(b, seq)
		seq++
		s.received = append(s.received, Request{&own.batch, own.done})
		return nil
	})
}

// copyBatch copies a batch. Its memory is held until it is answered.
func (s *servedLink) copyBatch(b *engine.Batch, seq uint64) *forwardedBatch {
	size, args := b.Sizes()
	s.mu.Lock()
	var own *forwardedBatch
	if last := len(s.free) - 1; last >= 0 {
		own, s.free = s.free[last], s.free[:last]
	} else {
		own = &forwardedBatch{server: s}
		own.done = own.answer
	}
	own.held = size + heldPerOp*len(b.Ops) + heldPerArg*args
	s.held += own.held
	s.mu.Unlock()

	own.seq = seq
	own.batch.Reset()
	own.batch.Atomic, own.batch.AnswerBytes = b.Atomic, engine.MaxAnswerBytes
	own.batch.Ops = append(own.batch.Ops, b.Ops...)
	if cap(own.bytes) < size {
		own.bytes = make([]byte, 0, size)
	}
	bytes := own.bytes[:0]
	keep := func(data []byte) []byte {
		from := len(bytes)
		bytes = append(bytes, data...)
		return bytes[from:len(bytes):len(bytes)]
	}
	for i := range own.batch.Ops {
		op := &own.batch.Ops[i]
		op.Key = keep(op.Key)
		if len(op.ID) > 0 {
			op.ID = keep(op.ID)
		}
	}
	own.batch.CopyCalls(b, keep)
	own.bytes = bytes
	return own
}

// answer queues the answer to a batch, and pools its memory.
func (own *forwardedBatch) answer(failed error) {
	s := own.server
	s.mu.Lock()
	if !s.over {
		before := len(s.out)
		s.out = appendBatchAnswer(s.out, own.seq, &own.batch, failed)
		answer := len(s.out) - before
		s.held += answer
		s.owed += own.held + answer
	}
	if len(s.free) < maxKeptBatches && cap(own.batch.Ops) <= maxKeptOps && cap(own.bytes) <= maxKeptKeys {
		s.free = append(s.free, own)
	}
	s.mu.Unlock()
	signal(s.wake)
}

// write writes queued answers whenever there are some.
func (s *servedLink) write() {
	var out []byte // the memory of earlier answers
	for range s.wake {
		s.mu.Lock()
		if s.over {
			s.mu.Unlock()
			return
		}
		out, s.out = s.out, out[:0]
		owed := s.owed
		s.owed = 0
		s.mu.Unlock()
		if len(out) == 0 {
			continue
		}
		s.conn.SetWriteDeadline(time.Now().Add(s.Timeout))
		if _, err := s.conn.Write(out); err != nil {
			s.stop()
			return
		}
		if cap(out) > link.MaxKeptFrame {
			out = nil
		}
		s.mu.Lock()
		s.held -= owed
		s.mu.Unlock()
		signal(s.roomFreed)
	}
}

func (s *servedLink) isFull() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held > maxHeldBytes
}

// waitForRoom blocks until held is at most maxHeldBytes; false: the link is over.
func (s *servedLink) waitForRoom() bool {
	for {
		s.mu.Lock()
		over, full := s.over, s.held > maxHeldBytes
		s.mu.Unlock()
		if over || !full {
			return !over
		}
		<-s.roomFreed
	}
}
