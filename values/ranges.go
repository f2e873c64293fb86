package values

// The ranges of a sorted set are given by ranks. A range of scores from min to max, both
// included, begins at rank Below(min) and ends before UpTo(max); a range of members from
// min to max begins at Before(min) and ends before Through(max).

// Below returns the number of members with a score less than x.
func (z *SortedSet) Below(x float64) int {
	return z.count(func(score float64, _ Element) bool { return score < x })
}

// UpTo returns the number of members with a score of at most x.
func (z *SortedSet) UpTo(x float64) int {
	return z.count(func(score float64, _ Element) bool { return score <= x })
}

// Before returns the number of members less than b. Requires: all scores are equal.
func (z *SortedSet) Before(b []byte) int {
	return z.count(func(_ float64, member Element) bool { return member.Compare(b) < 0 })
}

// Through returns the number of members of at most b. Requires: all scores are equal.
func (z *SortedSet) Through(b []byte) int {
	return z.count(func(_ float64, member Element) bool { return member.Compare(b) <= 0 })
}

// count returns the number of members, all at the start, that are within a range.
func (z *SortedSet) count(within func(score float64, member Element) bool) (n int) {
	s := z.store
	switch z.Ref.form() {
	case sortedPacked:
		b := s.packed(z.Ref)
		for at := 0; at < len(b); n++ {
			score, middle := readScore(b, at)
			if !within(score, s.element(b[middle:])) {
				return n
			}
			at = elementEnd(b, middle)
		}
	case sortedNodes:
		for r := z.Ref.blob(); r != 0; {
			x := s.view(r)
			side := 0
			if within(scoreOf(x), s.member(scoreOrder, x)) {
				side = 1
				n += s.size(child(x, scoreOrder, 0)) + 1
			}
			r = child(x, scoreOrder, side)
		}
	}
	return n
}

// A SortedWalk visits members of a sorted set, which must not change meanwhile.
type SortedWalk struct {
	store   *Store
	bytes   []byte // of a packed set
	at      int    // of the next member in bytes
	reverse bool
	starts  [maxPacked]uint16 // of the members before at, if reverse
	left    int
	tree    treeWalk
}

// Walk visits all members from a rank on, upwards.
func (z *SortedSet) Walk(rank int) SortedWalk {
	w := SortedWalk{store: z.store, left: z.Count - rank}
	switch z.Ref.form() {
	case sortedPacked:
		w.bytes = z.store.packed(z.Ref)
		for range min(rank, z.Count) {
			w.at = pairEnd(w.bytes, w.at)
		}
	case sortedNodes:
		w.tree = treeWalk{store: z.store, root: z.Ref.blob(), order: scoreOrder}
		w.tree.seekRank(rank)
	}
	return w
}

// WalkDown visits all members from a rank on, downwards.
func (z *SortedSet) WalkDown(rank int) SortedWalk {
	w := SortedWalk{store: z.store, left: min(rank+1, z.Count), reverse: true}
	switch z.Ref.form() {
	case sortedPacked:
		w.bytes = z.store.packed(z.Ref)
		for i := range w.left {
			w.starts[i] = uint16(w.at)
			w.at = pairEnd(w.bytes, w.at)
		}
	case sortedNodes:
		w.tree = treeWalk{store: z.store, root: z.Ref.blob(), order: scoreOrder, side: 1}
		w.tree.seekRank(rank)
	}
	return w
}

// Next returns the next member, or false at the end.
func (w *SortedWalk) Next() (member Element, score float64, ok bool) {
	if w.left <= 0 {
		return Element{}, 0, false
	}
	w.left--
	if w.bytes == nil {
		x := w.store.view(w.tree.next())
		return w.store.member(scoreOrder, x), scoreOf(x), true
	}
	at := w.at
	if w.reverse {
		at = int(w.starts[w.left])
	}
	score, middle := readScore(w.bytes, at)
	w.at = elementEnd(w.bytes, middle)
	return w.store.element(w.bytes[middle:]), score, true
}

// At returns the member after i others, and its score. Requires: it exists. Cost:
// O(Count) if packed, at most 128 steps.
func (z *SortedSet) At(i int) (member Element, score float64) {
	s := z.store
	if z.Ref.form() == sortedNodes {
		x := s.view(s.nodeAt(scoreOrder, z.Ref.blob(), i))
		return s.member(scoreOrder, x), scoreOf(x)
	}
	b, at := s.packed(z.Ref), 0
	for range i {
		at = pairEnd(b, at)
	}
	score, at = readScore(b, at)
	return s.element(b[at:]), score
}

// A SortedScan visits members of a sorted set, which must not change meanwhile, in the
// order of ZSCAN.
type SortedScan struct {
	packed SortedWalk
	scan   scan
}

// Scan visits about n members from a cursor on, 0 for the start, and all of a small set.
// All members that are in the set from the first scan to the last are visited.
func (z *SortedSet) Scan(cursor uint64, n int) SortedScan {
	if z.Ref.form() == sortedNodes {
		return SortedScan{scan: z.store.scanFrom(hashOrder, z.Ref.blob(), cursor, n)}
	}
	return SortedScan{packed: z.Walk(0)}
}

// Next returns the next member, or false at the end.
func (c *SortedScan) Next() (member Element, score float64, ok bool) {
	s := c.scan.walk.store
	if s == nil {
		return c.packed.Next()
	}
	r := c.scan.next()
	if r == 0 {
		return Element{}, 0, false
	}
	x := s.view(r)
	return s.member(hashOrder, x), scoreOf(x), true
}

// Cursor returns the cursor of the next Scan, 0 if all members were visited. Requires:
// Next returned false.
func (c *SortedScan) Cursor() uint64 { return c.scan.cursor() }
