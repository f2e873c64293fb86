package values

// A small value is packed: its elements lie in a single blob. They are in the order of insertion.
// In a sorted set they are in the order of score, then member.

// packed returns the bytes of a packed sequence, for reading only.
func (s *Store) packed(r Ref) []byte { return s.view(r.blob())[:r.length()] }

// splice replaces del bytes at an offset of a packed sequence by ins. A sequence without
// bytes has no blob.
func (s *Store) splice(r Ref, at, del int, ins []byte) Ref {
	n := r.length()
	to := n - del + len(ins)
	blob := r.blob()
	switch {
	case to == 0:
		s.release(blob)
		return 0
	case n == 0:
		blob = s.alloc(to)
		copy(s.edit(blob), ins)
	default:
		blob = s.spliceBlob(blob, n, at, del, ins)
	}
	return makeRef(r.form(), to, blob)
}

// spliceBlob replaces del of the n bytes of a blob at an offset by ins, and returns the
// blob, which may be another. Something must be left. ins must not be memory of the blob.
func (m *memory) spliceBlob(r blobRef, n, at, del int, ins []byte) blobRef {
	to := n - del + len(ins)
	if m.fits(r, to) {
		b := m.edit(r)
		if len(ins) != del {
			copy(b[at+len(ins):to], b[at+del:n])
		}
		copy(b[at:], ins)
		return r
	}
	fresh := m.alloc(to)
	b, old := m.edit(fresh), m.view(r)
	copy(b, old[:at])
	copy(b[at:], ins)
	copy(b[at+len(ins):to], old[at+del:n])
	m.release(r)
	return fresh
}

// encode returns the stored form of a short text in the Store's scratch memory.
func (s *Store) encode(b []byte) []byte {
	s.scratch = appendInline(s.scratch[:0], b)
	return s.scratch
}

// findElement returns the offset of an element in a sequence of groups of step elements, of
// which it compares the first element; -1 if it is not there.
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
