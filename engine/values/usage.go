package values

// sampled is the number of leaves or chunks that Usage measures.
const sampled = 16

// Usage returns the memory of a value: all of a small value; of a large value, an estimate
// from some of its elements.
func (s *Store) Usage(h Head) (bytes int64) {
	r := h.Ref
	if r.blob() == 0 {
		return 0
	}
	switch r.form() {
	case stringWhole, stringChanged:
		return s.textBytes(r.blob(), r.length())
	case hashTree:
		return s.treeUsage(s.treeOf(r, fieldOrder), h.Count)
	case setTree:
		return s.treeUsage(s.treeOf(r, setOrder), h.Count)
	case sortedTree:
		index, scores := s.sortedTrees(r)
		return int64(s.capacity(r.blob())) + s.treeUsage(index, h.Count) + s.treeUsage(scores, h.Count)
	case listChunks:
		entries := 0
		for i, at := 0, r.blob(); i < sampled && entries < h.Count; i++ {
			b := s.view(at)
			start, end, n := chunkSpan(b)
			bytes += chunkBytes + s.entriesUsage(b[start:end])
			entries += n
			at = chunkNext(b)
		}
		return bytes * int64(h.Count) / int64(max(entries, 1))
	case listPacked:
		return int64(s.capacity(r.blob())) + s.entriesUsage(s.packed(r)[listHead:])
	}
	return int64(s.capacity(r.blob()))
}

// entriesUsage returns the memory of entries of a list besides their stored form.
func (s *Store) entriesUsage(b []byte) (bytes int64) {
	for at := 0; at < len(b); at = entryEnd(b, at) {
		bytes += s.elementUsage(b[at:])
	}
	return bytes
}

// elementUsage returns the memory of an element besides its stored form.
func (s *Store) elementUsage(b []byte) int64 {
	if b[0] != tagLong {
		return 0
	}
	e := s.element(b)
	return s.textBytes(e.blob, int(e.n))
}

// treeUsage estimates the memory of a tree of count entries.
func (s *Store) treeUsage(t tree, count int) int64 {
	left := sampled
	bytes, entries := t.sample(t.root, t.height, &left)
	return bytes * int64(count) / int64(entries)
}

// sample returns the memory of some leaves, and the nodes above, below a leaf or node at a
// level, and the number of their entries.
func (t *tree) sample(r blobRef, level int, left *int) (bytes int64, entries int) {
	s := t.store
	bytes = int64(s.capacity(r))
	if level > 0 {
		x := s.view(r)
		for i := 0; i < branches(x) && *left > 0; i++ {
			b, n := t.sample(branchAt(x, i).blob, level-1, left)
			bytes, entries = bytes+b, entries+n
		}
		return bytes, entries
	}
	*left--
	b := t.entries(r)
	for at := 0; at < len(b); entries++ {
		end := t.order.entryEnd(b, at)
		for at += keyBytes; at < end && t.order < indexOrder; at = elementEnd(b, at) {
			bytes += s.elementUsage(b[at:])
		}
		if t.order == indexOrder {
			bytes += s.elementUsage(b[at:])
		}
		at = end
	}
	return bytes, entries
}
