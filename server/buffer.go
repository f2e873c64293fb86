package server

import "slices"

// borrow lends the reader an input buffer, unless it has one, and room for arguments.
func (r *reader) borrow(w *workspace) {
	if r.buf == nil {
		r.buf = append(w.in.lend(), r.tail...)
		r.tail = r.tail[:0]
		r.lent = true
	}
	if r.args == nil {
		r.args = w.args.lend()
	}
}

// retain keeps the borrowed arguments, and the bytes that they point into, until release.
// The rest of the borrowed memory is free for other connections.
func (r *reader) retain(w *workspace) {
	if r.lent && r.retainedBuf == nil {
		r.retainedBuf = w.in.retain(r.buf)
		r.buf = slices.Clip(r.buf)
	}
	if r.retainedArgs == nil {
		r.retainedArgs = w.args.retain(r.args)
		r.args = slices.Clip(r.args)
	}
}

// release returns the memory that borrow lent. The bytes of an incomplete command move to
// memory of the reader's own. Requires: discardArgs was called since next.
//
// Cost: a byte is moved at most twice on its way through the tail, because a longer
// command stays in a buffer of the reader's own.
func (r *reader) release(w *workspace) {
	switch {
	case r.retainedArgs != nil:
		w.args.release(r.retainedArgs)
	case r.args != nil:
		w.args.outgrown(r.args)
	}
	r.args, r.retainedArgs = nil, nil
	if r.lent {
		r.moveToFront()
		rest := r.buf
		r.buf, r.lent = nil, false
		if len(rest) > tailBytes {
			r.buf = append(make([]byte, 0, 2*len(rest)), rest...)
		} else if len(rest) > 0 {
			if r.tail == nil {
				r.tail = make([]byte, 0, tailBytes)
			}
			r.tail = append(r.tail, rest...)
		}
	}
	if r.retainedBuf != nil {
		w.in.release(r.retainedBuf)
		r.retainedBuf = nil
	}
	r.compact(0)
}

// ownSpace returns room for at least one byte in memory of the reader's own: its tail, or
// the buffer of a longer command. ownFilled reports the number of bytes put there.
func (r *reader) ownSpace() []byte {
	if r.buf != nil {
		return r.space()
	}
	if len(r.tail) == cap(r.tail) {
		r.tail = append(make([]byte, 0, max(firstTailBytes, 2*cap(r.tail))), r.tail...)
	}
	return r.tail[len(r.tail):cap(r.tail)]
}

func (r *reader) ownFilled(n int) {
	if r.buf != nil {
		r.filled(n)
		return
	}
	r.tail = r.tail[:len(r.tail)+n]
}

// space returns room for at least one byte. Requires: discardArgs was called since next.
func (r *reader) space() []byte {
	if len(r.buf) == cap(r.buf) {
		r.buf = append(make([]byte, 0, max(ownBytes, 2*cap(r.buf))), r.buf...)
	}
	return r.buf[len(r.buf):cap(r.buf)]
}

// filled reports the number of bytes put into the result of space.
func (r *reader) filled(n int) { r.buf = r.buf[:len(r.buf)+n] }

// discardArgs drops the arguments that next returned.
func (r *reader) discardArgs() {
	clear(r.args)
	r.args = r.args[:0]
}

// compact moves an incomplete command to the front of the buffer, and drops the buffer if
// it is empty and larger than keep bytes. Requires: discardArgs was called since next.
func (r *reader) compact(keep int) {
	r.moveToFront()
	if len(r.buf) == 0 && cap(r.buf) > keep {
		r.buf = nil
	}
	if cap(r.spans) > keptSpans && len(r.spans) == 0 {
		r.spans = nil
	}
}

// moveToFront moves the command being read to the front of the buffer. No byte is moved
// twice, because the command is at the front after the first move.
func (r *reader) moveToFront() {
	if r.missing == 0 {
		r.start = r.pos
	}
	if r.problem != "" {
		r.start = len(r.buf)
	}
	if r.start == 0 {
		return
	}
	r.buf = r.buf[:copy(r.buf, r.buf[r.start:])]
	r.pos = max(0, r.pos-r.start)
	r.scan = max(0, r.scan-r.start)
	r.start = 0
}
