package values

import "encoding/binary"

// Move moves the contents of a value from another Store into s, and returns the value's Head in s.
// Requires: from has the same seed and is not frozen. Cost: texts longer than 4 KB move with their
// pages, unless a frozen Store shares them. Everything else is copied blob by blob, without
// look-ups.
func (s *Store) Move(from *Store, h Head) Head {
	s.SawChange(h.Change)
	if h.Ref.blob() == 0 {
		return h
	}
	m := mover{from: from, to: s}
	r, blob := h.Ref, h.Ref.blob()
	switch r.form() {
	case stringWhole, stringChanged:
		blob = m.text(blob, r.length())
	case hashTree:
		blob = m.tree(blob, r.length(), fieldOrder)
	case setTree:
		blob = m.tree(blob, r.length(), setOrder)
	case sortedTree:
		blob = m.sorted(r)
	case listChunks:
		blob = m.ring(blob)
	case listPacked:
		blob = m.blob(blob)
		m.elements(s.edit(blob)[listHead:r.length()], entryEnd)
	default:
		blob = m.blob(blob)
	}
	h.Ref = makeRef(r.form(), r.length(), blob)
	return h
}

// A mover moves blobs between Stores.
type mover struct {
	from, to *Store
	texts    map[blobRef]blobRef // old to new texts of long members of a sorted set
}

// blob moves a blob, but not the blobs that it refers to.
func (m *mover) blob(r blobRef) blobRef {
	if fresh := m.page(r); fresh != 0 {
		return fresh
	}
	old := m.from.view(r)
	fresh := m.to.alloc(len(old))
	copy(m.to.edit(fresh), old)
	m.from.release(r)
	return fresh
}

// page moves a blob that has a page of its own, without copying it. It returns 0 if the blob shares
// its page with other blobs, or if a frozen Store shares the page.
func (m *mover) page(r blobRef) blobRef {
	s, number := m.from, r.page()
	h := s.head(number)
	if h.class != aloneClass || h.epoch < s.shared {
		return 0
	}
	buf := h.buf
	fresh := m.to.addPage(buf, aloneClass, uint32(len(buf)))
	m.to.ownHead(fresh).used = 1
	m.to.used += int64(len(buf))
	h = s.ownHead(number)
	s.used -= int64(len(buf))
	s.pages--
	s.bytes -= int64(len(buf)) + pageHeadBytes
	*h = pageHead{next: s.unused}
	s.unused = number
	return blobRef(uint32(fresh) << slotBits)
}

// text moves a text of n bytes.
func (m *mover) text(r blobRef, n int) blobRef {
	if n == 0 {
		return 0
	}
	fresh := m.blob(r)
	if n <= maxBlob {
		return fresh
	}
	for i := range pieces(n) {
		at := i * pieceRefBytes
		piece := m.blob(blobRef(binary.LittleEndian.Uint32(m.to.view(fresh)[at:])))
		binary.LittleEndian.PutUint32(m.to.edit(fresh)[at:], uint32(piece))
	}
	return fresh
}

// element moves the text of a stored element, if the text is in a blob of its own.
func (m *mover) element(b []byte) {
	if b[0] == tagLong {
		old := blobRef(binary.LittleEndian.Uint32(b[1:]))
		fresh, moved := m.texts[old]
		if !moved {
			fresh = m.text(old, int(binary.LittleEndian.Uint32(b[5:])))
			if m.texts != nil {
				m.texts[old] = fresh
			}
		}
		binary.LittleEndian.PutUint32(b[1:], uint32(fresh))
	}
}

// elements moves the texts of the elements stored in b. end(b, at) is the end of the element at
// offset at.
func (m *mover) elements(b []byte, end func([]byte, int) int) {
	for at := 0; at < len(b); at = end(b, at) {
		m.element(b[at:])
	}
}

// ring moves the chunks of a list.
func (m *mover) ring(first blobRef) blobRef {
	var start, last blobRef
	for old := first; ; {
		next := chunkNext(m.from.view(old))
		fresh := m.blob(old)
		b := m.to.edit(fresh)
		from, to, _ := chunkSpan(b)
		m.elements(b[from:to], entryEnd)
		if start == 0 {
			start = fresh
		} else {
			setChunkNext(m.to.edit(last), fresh)
			setChunkPrev(m.to.edit(fresh), last)
		}
		last = fresh
		if old = next; old == first {
			break
		}
	}
	setChunkNext(m.to.edit(last), start)
	setChunkPrev(m.to.edit(start), last)
	return start
}

// sorted moves the trees of a large sorted set.
func (m *mover) sorted(r Ref) blobRef {
	index, scores := m.from.sortedTrees(r)
	m.texts = map[blobRef]blobRef{}
	blob := m.blob(r.blob())
	root := m.tree(index.root, index.height, indexOrder)
	binary.LittleEndian.PutUint32(m.to.edit(blob), uint32(root))
	root = m.tree(scores.root, scores.height, scoreOrder)
	binary.LittleEndian.PutUint32(m.to.edit(blob)[4:], uint32(root))
	return blob
}

// tree moves a leaf if level is 0, and otherwise a node with everything below it.
func (m *mover) tree(r blobRef, level int, o order) blobRef {
	fresh := m.blob(r)
	if level == 0 {
		m.leaf(fresh, o)
		return fresh
	}
	for i := range branches(m.to.view(fresh)) {
		b := branchAt(m.to.view(fresh), i)
		b.blob = m.tree(b.blob, level-1, o)
		setBranch(m.to.edit(fresh), i, b)
	}
	return fresh
}

// leaf moves the texts of the elements of a leaf.
func (m *mover) leaf(r blobRef, o order) {
	t := tree{store: m.to, order: o}
	n := len(t.entries(r))
	b := m.to.edit(r)[leafHead : leafHead+n]
	for at := 0; at < n; at = o.entryEnd(b, at) {
		member := at + keyBytes
		m.element(b[member:])
		if o == fieldOrder {
			m.element(b[elementEnd(b, member):])
		}
	}
}
