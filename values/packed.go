package values

// A small value is packed: its elements lie in one blob one after the other, in the order
// of insertion, or in a sorted set by score and member.

// packed returns the bytes of a packed sequence, for reading only.
func (s *Store) packed(r Ref) []byte { return s.view(r.blob())[:r.length()] }

// splice replaces del bytes at an offset of a packed sequence by others, which must not
// be memory of the Store. A sequence without bytes has no blob.
func (s *Store) splice(r Ref, at, del int, ins []byte) Ref {
	n := r.length()
	to := n - del + len(ins)
	if n == 0 {
		blob := s.alloc(to)
		copy(s.edit(blob), ins)
		return makeRef(r.form(), to, blob)
	}
	old := r.blob()
	switch {
	case to == 0:
		s.release(old)
		return 0
	case s.fits(old, to):
		b := s.edit(old)
		if len(ins) != del {
			copy(b[at+len(ins):to], b[at+del:n])
		}
		copy(b[at:], ins)
		return makeRef(r.form(), to, old)
	}
	blob := s.alloc(to)
	b, from := s.edit(blob), s.view(old)
	copy(b, from[:at])
	copy(b[at:], ins)
	copy(b[at+len(ins):to], from[at+del:n])
	s.release(old)
	return makeRef(r.form(), to, blob)
}

// encode returns the stored form of a text in the Store's scratch memory.
func (s *Store) encode(b []byte) []byte {
	s.scratch = s.appendElement(s.scratch[:0], b)
	return s.scratch
}

// findElement returns the offset of an element in a sequence of them, step of which
// belong together, the first being compared; -1 if it is not there.
func findElement(b, element []byte, step int) int {
	for at := 0; at < len(b); {
		end := elementEnd(b, at)
		if string(b[at:end]) == string(element) {
			return at
		}
		at = end
		if step == 2 {
			at = elementEnd(b, at)
		}
	}
	return -1
}

// elementAt returns the offset after n elements.
func elementAt(b []byte, n int) (at int) {
	for range n {
		at = elementEnd(b, at)
	}
	return at
}

// isShort reports whether a text may be in a packed sequence of fields or members.
func isShort(b []byte) bool { return len(b) <= maxPackedText }
