package values

// Numbers of blobs that are freed by each change, and at once by Free.
const (
	collectPerChange = 2
	collectPerFree   = 16
)

// changed returns the number of a new change, and frees some discarded contents.
func (s *Store) changed() uint64 {
	if len(s.garbage) > 0 {
		s.Collect(collectPerChange)
	}
	s.changes++
	return s.changes
}

// changedBy is changed for n changes, and returns the number of the last.
func (s *Store) changedBy(n int) uint64 {
	s.Collect(collectPerChange * n)
	s.changes += uint64(n)
	return s.changes
}

// Free frees the contents of a value. Cost: at once for a few hundred elements, or a text;
// further elements are freed by later changes, some each, and by Collect.
func (s *Store) Free(h Head) {
	r := h.Ref
	if r.blob() == 0 {
		return
	}
	switch r.form() {
	case stringWhole, stringChanged:
		s.releaseText(r.blob(), r.length())
	case hashTree:
		s.discard(s.treeOf(r, fieldOrder))
	case setTree:
		s.discard(s.treeOf(r, setOrder))
	case sortedTree:
		index, scores := s.sortedTrees(r)
		s.discard(index)
		s.discard(scores)
		s.release(r.blob())
	case listChunks:
		s.openRing(r.blob())
		s.garbage = append(s.garbage, discarded{blob: r.blob(), order: listOrder})
	case listPacked:
		s.releaseEntries(s.packed(r)[listHead:])
		s.release(r.blob())
	default:
		s.release(r.blob())
	}
	s.Collect(collectPerFree)
}

func (s *Store) discard(t tree) {
	s.garbage = append(s.garbage, discarded{blob: t.root, order: uint8(t.order), level: uint8(t.height)})
}

// Collect frees up to n blobs, each with about 20 elements, of freed values, and reports
// whether any are left.
func (s *Store) Collect(n int) (left bool) {
	for ; n > 0 && len(s.garbage) > 0; n-- {
		last := len(s.garbage) - 1
		d := s.garbage[last]
		s.garbage = s.garbage[:last]
		switch {
		case d.order == listOrder:
			if d.blob = s.releaseChunk(d.blob); d.blob != 0 {
				s.garbage = append(s.garbage, d)
			}
		case d.level > 0:
			x := s.view(d.blob)
			for i := range branches(x) {
				s.garbage = append(s.garbage, discarded{blob: branchAt(x, i).blob, order: d.order, level: d.level - 1})
			}
			s.release(d.blob)
		default:
			t := tree{store: s, order: order(d.order)}
			t.releaseLeaf(d.blob)
		}
	}
	return len(s.garbage) > 0
}
