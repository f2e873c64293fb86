package values

// A String is a cursor on a string. Its functions that change the string change Head,
// which the owner must then keep; Count is the number of bytes. Arguments must not be
// memory of the Store.
type String struct {
	store *Store
	Head
}

// String returns a cursor on the string of h, which may be empty.
func (s *Store) String(h Head) String { return String{s, h} }

// Set replaces the string.
func (t *String) Set(b []byte) {
	s, n, blob := t.store, t.Count, t.Ref.blob()
	t.Change = s.changed()
	if n == 0 || n > maxBlob || len(b) == 0 || !s.fits(blob, len(b)) {
		s.Free(t.Head)
		blob = s.newText(b)
	} else {
		copy(s.edit(blob), b)
	}
	t.Count = len(b)
	t.Ref = makeRef(stringWhole, len(b), blob)
}

// Write overwrites the bytes from at on, and extends the string with zeros up to there if
// it is shorter. Requires: at + len(b) <= MaxText. Cost: a copy of the string if it does
// not fit into its memory, of at most 32 KB.
func (t *String) Write(at int, b []byte) {
	s := t.store
	t.Change = s.changed()
	to := max(t.Count, at+len(b))
	blob := s.growText(t.Ref.blob(), t.Count, to)
	s.writeText(blob, to, at, b)
	t.Count = to
	t.Ref = makeRef(stringChanged, to, blob)
}

// Append appends the bytes from an offset up to another.
func (t *String) Append(dst []byte, from, to int) []byte {
	dst = Grow(dst, to-from)
	for from < to {
		b := t.Piece(from)
		b = b[:min(len(b), to-from)]
		dst = append(dst, b...)
		from += len(b)
	}
	return dst
}

// Piece returns bytes from an offset on, at least one unless it is the end, for reading
// until the next change to the Store.
func (t *String) Piece(at int) []byte { return t.store.piece(t.Ref.blob(), t.Count, at) }
