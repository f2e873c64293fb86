package resp

import "slices"

// Borrow lends the reader an input buffer of p, unless it has a buffer, and room for
// arguments.
func (r *Reader) Borrow(p *Pool) {
	if r.buf == nil {
		r.buf = append(p.in.lend(), r.tail...)
		r.tail = r.tail[:0]
		r.lent = true
	}
	if r.args == nil {
		r.args = p.args.lend()
	}
}

// Retain keeps the borrowed arguments, and the bytes that they point into, until Release.
// The rest of the borrowed memory is free for other readers.
func (r *Reader) Retain(p *Pool) {
	if r.lent && r.retainedBuf == nil {
		r.retainedBuf = p.in.retain(r.buf)
		r.buf = slices.Clip(r.buf)
	}
	if r.retainedArgs == nil {
		r.retainedArgs = p.args.retain(r.args)
		r.args = slices.Clip(r.args)
	}
}

// Release returns the memory that Borrow lent. The bytes of an incomplete command move to
// memory of the reader's own. Requires: DiscardArgs was called since Next.
//
// Cost: a byte is moved at most twice on its way through the tail, because a longer
// command stays in a buffer of the reader's own.
func (r *Reader) Release(p *Pool) {
	switch {
	case r.retainedArgs != nil:
		p.args.release(r.retainedArgs)
	case r.args != nil:
		p.args.outgrown(r.args)
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
		p.in.release(r.retainedBuf)
		r.retainedBuf = nil
	}
	r.drop(0)
}

// OwnSpace returns room for at least one byte in memory of the reader's own: its tail, or
// the buffer of a longer command. OwnFilled reports the number of bytes put there.
func (r *Reader) OwnSpace() []byte {
	if r.buf != nil {
		return r.Space()
	}
	if len(r.tail) == cap(r.tail) {
		r.tail = append(make([]byte, 0, max(firstTailBytes, 2*cap(r.tail))), r.tail...)
	}
	return r.tail[len(r.tail):cap(r.tail)]
}

// OwnFilled reports the number of bytes put into the result of OwnSpace.
func (r *Reader) OwnFilled(n int) {
	if r.buf != nil {
		r.Filled(n)
		return
	}
	r.tail = r.tail[:len(r.tail)+n]
}

// Space returns room for at least one byte. Requires: DiscardArgs was called since Next.
func (r *Reader) Space() []byte {
	if len(r.buf) == cap(r.buf) {
		r.buf = append(make([]byte, 0, max(ownBytes, 2*cap(r.buf))), r.buf...)
	}
	return r.buf[len(r.buf):cap(r.buf)]
}

// Filled reports the number of bytes put into the result of Space.
func (r *Reader) Filled(n int) { r.buf = r.buf[:len(r.buf)+n] }

// DiscardArgs drops the arguments that Next returned.
func (r *Reader) DiscardArgs() {
	clear(r.args)
	r.args = r.args[:0]
}

// Compact moves an incomplete command to the front of a buffer of the reader's own, and
// drops the memory that only a large command needs. Requires: DiscardArgs was called since
// Next.
func (r *Reader) Compact() {
	r.drop(ownBytes)
	if cap(r.args) > ownArgs {
		r.args = nil
	}
}

// drop moves an incomplete command to the front of the buffer, and drops the buffer if it
// is empty and larger than keep bytes.
func (r *Reader) drop(keep int) {
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
func (r *Reader) moveToFront() {
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

// HasInput reports whether received bytes are not part of a command that Next has
// returned.
func (r *Reader) HasInput() bool { return r.pos < len(r.buf) }

// Held returns the number of bytes received and not yet executed.
func (r *Reader) Held() int { return len(r.buf) + len(r.tail) }

// Room returns the number of free bytes after the held bytes.
func (r *Reader) Room() int { return cap(r.buf) - len(r.buf) + cap(r.tail) - len(r.tail) }
