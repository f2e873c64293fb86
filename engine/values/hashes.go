package values

// A Hash is a cursor on a hash. Its functions that change the hash change Head, which the
// owner must then keep. Arguments must not be memory of the Store.
//
// Fields are in the order of insertion while the hash has at most 128 fields, and no field
// or value has more than 64 bytes. Once that was exceeded, fields are in the order of their
// hashes.
type Hash struct {
	store *Store
	Head
}

// Hash returns a cursor on the hash of h, which may be empty.
func (s *Store) Hash(h Head) Hash { return Hash{s, h} }

// Get returns the value of a field.
func (h *Hash) Get(field []byte) (value Element, ok bool) {
	s := h.store
	switch h.Ref.form() {
	case hashPacked:
		if isShort(field) {
			b := s.packed(h.Ref)
			if at := findElement(b, s.encode(field), 2); at >= 0 {
				return s.element(b[elementEnd(b, at):]), true
			}
		}
	case hashTree:
		t := h.tree()
		g := t.order.target(s.key.Sum(field), Element{text: field})
		if leaf, at, ok := t.find(&g); ok {
			b := t.entries(leaf)
			return s.element(b[elementEnd(b, at+keyBytes):]), true
		}
	}
	return Element{}, false
}

// tree returns the tree of a large hash.
func (h *Hash) tree() tree { return h.store.treeOf(h.Ref, fieldOrder) }

// Set sets the value of a field and reports whether the field is new.
func (h *Hash) Set(field, value []byte) (added bool) {
	s := h.store
	h.Change = s.changed()
	if h.Ref == 0 {
		h.Ref = makeRef(hashPacked, 0, 0)
	}
	if h.Ref.form() == hashPacked {
		if !isShort(field) || !isShort(value) {
			h.unpack()
			return h.setInTree(field, value)
		}
		pair := s.encode(field)
		middle := len(pair)
		s.scratch = appendInline(s.scratch, value)
		pair = s.scratch
		b := h.bytes()
		at := findElement(b, pair[:middle], 2)
		if at >= 0 {
			from := elementEnd(b, at)
			h.Ref = s.splice(h.Ref, from, elementEnd(b, from)-from, pair[middle:])
			return false
		}
		if h.Count < maxPacked {
			h.Ref = s.splice(h.Ref, len(b), 0, pair)
			h.Count++
			return true
		}
		h.unpack()
	}
	return h.setInTree(field, value)
}

// bytes returns the packed sequence, which may be empty.
func (h *Hash) bytes() []byte {
	if h.Ref.length() == 0 {
		return nil
	}
	return h.store.packed(h.Ref)
}

// setInTree does Set with a tree.
func (h *Hash) setInTree(field, value []byte) (added bool) {
	s, t := h.store, h.tree()
	g := t.order.target(s.key.Sum(field), Element{text: field})
	if leaf, at, ok := t.find(&g); ok {
		b := t.entries(leaf)
		old := s.element(b[elementEnd(b, at+keyBytes):])
		s.scratch = s.appendElement(s.scratch[:0], value, maxLeafText)
		t.setValue(&g, leaf, at, s.scratch)
		s.releaseElement(old)
	} else {
		s.scratch = s.appendElement(s.encodeEntry(g.key, field), value, maxLeafText)
		t.add(h.Count, &g, s.scratch)
		h.Count++
		added = true
	}
	h.Ref = t.ref(hashTree)
	return added
}

// Reserve stores the hash for so many more fields. From 129 fields on, it is stored as a
// large hash.
func (h *Hash) Reserve(fields int) {
	if fields > maxPacked && (h.Ref == 0 || h.Ref.form() == hashPacked) {
		h.unpack()
	}
}

// unpack stores the hash as a tree.
func (h *Hash) unpack() {
	s, b, old := h.store, h.bytes(), h.Ref
	t := tree{store: s, order: fieldOrder}
	n := 0
	var buf [maxPackedText]byte
	for at := 0; at < len(b); n++ {
		middle := elementEnd(b, at)
		end := elementEnd(b, middle)
		field := s.element(b[at:]).Append(buf[:0])
		g := t.order.target(s.key.Sum(field), Element{text: field})
		s.scratch = append(s.encodeEntry(g.key, field), b[middle:end]...)
		t.add(n, &g, s.scratch)
		at = end
	}
	if len(b) > 0 {
		s.release(old.blob())
	}
	h.Ref = t.ref(hashTree)
}

// Delete deletes a field and reports whether it existed.
func (h *Hash) Delete(field []byte) bool {
	s := h.store
	switch h.Ref.form() {
	case hashPacked:
		if !isShort(field) {
			return false
		}
		b := s.packed(h.Ref)
		at := findElement(b, s.encode(field), 2)
		if at < 0 {
			return false
		}
		h.Ref = s.splice(h.Ref, at, elementEnd(b, elementEnd(b, at))-at, nil)
	case hashTree:
		t := h.tree()
		g := t.order.target(s.key.Sum(field), Element{text: field})
		leaf, at, ok := t.find(&g)
		if !ok {
			return false
		}
		old, value := s.pair(t.entries(leaf)[at+keyBytes:])
		t.remove(h.Count, &g)
		s.releaseElement(old)
		s.releaseElement(value)
		h.Ref = t.ref(hashTree)
	default:
		return false
	}
	h.Change = s.changed()
	h.removed(1)
	return true
}

// At returns field i. Requires: it exists. Cost: O(Count) if packed, at most 128 steps.
func (h *Hash) At(i int) (field, value Element) {
	s := h.store
	if h.Ref.form() == hashTree {
		t := h.tree()
		b, at := t.at(i)
		return s.pair(b[at+keyBytes:])
	}
	b := s.packed(h.Ref)
	return s.pair(b[elementAt(b, 2*i):])
}

// pair returns the two elements that are stored at the start of b.
func (m *memory) pair(b []byte) (field, value Element) {
	return m.element(b), m.element(b[elementEnd(b, 0):])
}

// A HashWalk visits fields of a hash, which must not change meanwhile.
type HashWalk struct {
	store *Store
	bytes []byte // of a packed hash, the rest
	scan  scan
}

// Walk visits all fields.
func (h *Hash) Walk() HashWalk { return h.Scan(0, h.Count) }

// Scan visits about n fields from a cursor on, 0 for the start, and all of a small hash.
// All fields that exist from the first scan to the last are visited.
func (h *Hash) Scan(cursor uint64, n int) HashWalk {
	if h.Ref.form() == hashTree {
		t := h.tree()
		return HashWalk{store: h.store, scan: t.scanFrom(cursor, n)}
	}
	return HashWalk{store: h.store, bytes: h.bytes()}
}

// Next returns the next field, or false at the end.
func (w *HashWalk) Next() (field, value Element, ok bool) {
	b := w.bytes
	if len(b) > 0 {
		w.bytes = b[elementEnd(b, elementEnd(b, 0)):]
	} else if b = w.scan.entry(); b == nil {
		return Element{}, Element{}, false
	} else {
		b = b[keyBytes:]
	}
	field, value = w.store.pair(b)
	return field, value, true
}

// Cursor returns the cursor of the next Scan, 0 if all fields were visited. Requires: Next
// returned false.
func (w *HashWalk) Cursor() uint64 { return w.scan.cursor() }
