package values

// A Hash is a cursor on a hash. Its functions that change the hash change Head, which the
// owner must then keep. Arguments must not be memory of the Store.
//
// Fields are in the order of insertion up to 128 fields, all of them and their values of
// up to 64 bytes, and in the order of their hashes once that was exceeded.
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
	case hashNodes:
		if r := s.find(memberOrder, h.Ref.blob(), s.key.sum(field), field); r != 0 {
			_, value := s.pair(r)
			return value, true
		}
	}
	return Element{}, false
}

// pair returns the field and the value of a node.
func (s *Store) pair(r blobRef) (field, value Element) {
	x := s.view(r)
	at := nodeElement[memberOrder]
	return s.element(x[at:]), s.element(x[elementEnd(x, at):])
}

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
			return h.setNode(field, value)
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
	return h.setNode(field, value)
}

// bytes returns the packed sequence, which may be empty.
func (h *Hash) bytes() []byte {
	if h.Ref.length() == 0 {
		return nil
	}
	return h.store.packed(h.Ref)
}

// setNode does Set with nodes.
func (h *Hash) setNode(field, value []byte) (added bool) {
	s := h.store
	hash := s.key.sum(field)
	root := h.Ref.blob()
	if old := s.find(memberOrder, root, hash, field); old != 0 {
		h.Ref = makeRef(hashNodes, 0, s.setValue(root, old, s.encode(value)))
		return false
	}
	pair := s.encode(field)
	middle := len(pair)
	s.scratch = s.appendElement(s.scratch, value)
	h.addNode(s.newNode(memberOrder, hash, s.scratch[:middle], s.scratch[middle:]))
	return true
}

func (h *Hash) addNode(r blobRef) {
	h.Ref = makeRef(hashNodes, 0, h.store.add(memberOrder, h.Ref.blob(), r))
	h.Count++
}

// setValue replaces the value of a node by a stored form, and returns the root.
func (s *Store) setValue(root, r blobRef, value []byte) blobRef {
	x := s.view(r)
	middle := elementEnd(x, nodeElement[memberOrder])
	s.releaseElement(x[middle:])
	to := middle + len(value)
	fresh := r
	if !s.fits(r, to) {
		fresh = s.alloc(to)
		copy(s.edit(fresh), s.view(r)[:middle])
	}
	copy(s.edit(fresh)[middle:], value)
	if fresh != r {
		root = s.replace(root, r, fresh)
		s.release(r)
	}
	return root
}

// Reserve stores the hash for so many more fields. From 129 on, it is stored as a large
// one.
func (h *Hash) Reserve(fields int) {
	if fields > maxPacked && (h.Ref == 0 || h.Ref.form() == hashPacked) {
		h.unpack()
	}
}

// unpack stores the hash as nodes.
func (h *Hash) unpack() {
	s, b, old := h.store, h.bytes(), *h
	h.Ref, h.Count = makeRef(hashNodes, 0, 0), 0
	var buf [maxPackedText]byte
	for at := 0; at < len(b); {
		middle := elementEnd(b, at)
		end := elementEnd(b, middle)
		hash := s.key.sum(s.element(b[at:]).Append(buf[:0]))
		h.addNode(s.newNode(memberOrder, hash, b[at:middle], b[middle:end]))
		at = end
	}
	if len(b) > 0 {
		s.release(old.Ref.blob())
	}
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
	case hashNodes:
		root := h.Ref.blob()
		r := s.find(memberOrder, root, s.key.sum(field), field)
		if r == 0 {
			return false
		}
		root = s.cut(memberOrder, root, r)
		s.releaseNode(hashNodes, r)
		h.Ref = makeRef(hashNodes, 0, root)
	default:
		return false
	}
	h.Change = s.changed()
	h.removed(1)
	return true
}

// removed counts n removed elements. A value without elements has no contents.
func (h *Head) removed(n int) {
	h.Count -= n
	if h.Count == 0 {
		h.Ref = 0
	}
}

// At returns the field after i others. Requires: it exists. Cost: O(Count) if packed, at
// most 128 steps.
func (h *Hash) At(i int) (field, value Element) {
	s := h.store
	if h.Ref.form() == hashNodes {
		return s.pair(s.nodeAt(memberOrder, h.Ref.blob(), i))
	}
	b := s.packed(h.Ref)
	at := elementAt(b, 2*i)
	return s.element(b[at:]), s.element(b[elementEnd(b, at):])
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
	if h.Ref.form() == hashNodes {
		return HashWalk{store: h.store, scan: h.store.scanFrom(memberOrder, h.Ref.blob(), cursor, n)}
	}
	return HashWalk{store: h.store, bytes: h.bytes()}
}

// Next returns the next field, or false at the end.
func (w *HashWalk) Next() (field, value Element, ok bool) {
	if b := w.bytes; len(b) > 0 {
		middle := elementEnd(b, 0)
		w.bytes = b[elementEnd(b, middle):]
		return w.store.element(b), w.store.element(b[middle:]), true
	}
	if w.scan.walk.store == nil {
		return Element{}, Element{}, false
	}
	if r := w.scan.next(); r != 0 {
		field, value = w.store.pair(r)
		return field, value, true
	}
	return Element{}, Element{}, false
}

// Cursor returns the cursor of the next Scan, 0 if all fields were visited. Requires: Next
// returned false.
func (w *HashWalk) Cursor() uint64 { return w.scan.cursor() }
