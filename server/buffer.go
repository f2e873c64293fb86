package server

// A workspace is memory that a connection needs only while it has work: an event
// loop lends its own to one connection after the other, so that an idle one holds
// next to nothing.
type workspace struct {
	in   []byte
	args [][]byte
	out  []byte
}

// What a workspace has at first, and what it keeps of that which has grown.
const (
	lentBytes  = 64 << 10
	lentArgs   = 4 << 10
	lentOutput = 16 << 10
	keptArgs   = 32 << 10
	keptOutput = 1 << 20
)

// borrow lends the reader a buffer, unless it has one, and room for arguments.
func (r *reader) borrow(w *workspace) {
	if r.buf == nil {
		if w.in == nil {
			w.in = make([]byte, 0, lentBytes)
		}
		r.buf = append(w.in, r.tail...)
		r.tail = r.tail[:0]
		r.lent = true
		w.in = nil
	}
	if r.args == nil {
		if w.args == nil {
			w.args = make([][]byte, 0, lentArgs)
		}
		r.args = w.args
		w.args = nil
	}
}

// repay gives back what borrow lent. Bytes of a command that is not complete move
// to memory of the reader's own. Requires that release was called since next.
//
// Cost: a byte is moved at most twice on its way through the tail, as a command
// that is longer stays in a buffer of the reader's own.
func (r *reader) repay(w *workspace) {
	if r.args != nil && cap(r.args) <= keptArgs {
		w.args = r.args
	}
	r.args = nil
	if r.lent {
		r.toFront()
		rest := r.buf
		w.in, r.buf, r.lent = rest[:0], nil, false
		if len(rest) > tailBytes {
			r.buf = append(make([]byte, 0, 2*len(rest)), rest...)
		} else if len(rest) > 0 {
			if r.tail == nil {
				r.tail = make([]byte, 0, tailBytes)
			}
			r.tail = append(r.tail, rest...)
		}
	}
	r.settle(0)
}

// space returns room for bytes to come, at least one. Requires that release was
// called since next.
func (r *reader) space() []byte {
	if len(r.buf) == cap(r.buf) {
		r.buf = append(make([]byte, 0, max(ownBytes, 2*cap(r.buf))), r.buf...)
	}
	return r.buf[len(r.buf):cap(r.buf)]
}

// filled says how many bytes were put into what space returned.
func (r *reader) filled(n int) { r.buf = r.buf[:len(r.buf)+n] }

// release says that the arguments returned by next are done with.
func (r *reader) release() {
	clear(r.args)
	r.args = r.args[:0]
}

// settle moves a command that is not complete to the front of the buffer, which
// is dropped if it is empty and larger than keep bytes. Requires that release was
// called since next.
func (r *reader) settle(keep int) {
	r.toFront()
	if len(r.buf) == 0 && cap(r.buf) > keep {
		r.buf = nil
	}
	if cap(r.spans) > keptSpans && len(r.spans) == 0 {
		r.spans = nil
	}
}

// toFront moves the command being read to the front of the buffer. It is at the
// front when it has been moved once, so no byte is moved a second time.
func (r *reader) toFront() {
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
