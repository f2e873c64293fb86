package values

import "encoding/binary"

// The ranges of a sorted set are given by ranks. A range of scores from min to max, both
// included, begins at rank Below(min) and ends before UpTo(max); a range of members from
// min to max begins at Before(min) and ends before Through(max).

// Below returns the number of members with a score less than x.
func (z *SortedSet) Below(x float64) int {
	if z.Ref.form() == sortedTree {
		return z.rankOf(scoreKey(x), nil, false)
	}
	return z.countPacked(func(score float64, _ Element) bool { return score < x })
}

// UpTo returns the number of members with a score of at most x.
func (z *SortedSet) UpTo(x float64) int {
	if z.Ref.form() == sortedTree {
		if x == 0 {
			x = 0 // not -0
		}
		return z.rankOf(scoreKey(x)+1, nil, false)
	}
	return z.countPacked(func(score float64, _ Element) bool { return score <= x })
}

// Before returns the number of members less than b, among those with the lowest score.
func (z *SortedSet) Before(b []byte) int { return z.countMembers(b, false) }

// Through returns the number of members of at most b, among those with the lowest score.
func (z *SortedSet) Through(b []byte) int { return z.countMembers(b, true) }

// countMembers returns the number of members less than b, or also equal if through, among
// those with the lowest score.
func (z *SortedSet) countMembers(b []byte, through bool) int {
	if z.Count == 0 {
		return 0
	}
	_, lowest := z.At(0)
	if z.Ref.form() == sortedTree {
		return z.rankOf(scoreKey(lowest), b, through)
	}
	return z.countPacked(func(score float64, member Element) bool {
		c := member.Compare(b)
		return score == lowest && (c < 0 || c == 0 && through)
	})
}

// rankOf returns the number of members of a large set before a target.
func (z *SortedSet) rankOf(key uint64, member []byte, through bool) int {
	_, scores := z.store.sortedTrees(z.Ref)
	g := scores.order.target(key, Element{text: member})
	g.through = through
	return scores.rank(&g)
}

// countPacked returns the number of members, all at the start, that are within a range.
func (z *SortedSet) countPacked(within func(score float64, member Element) bool) (n int) {
	if z.Count == 0 {
		return 0
	}
	s := z.store
	b := s.packed(z.Ref)
	for at := 0; at < len(b); n++ {
		score, middle := readScore(b, at)
		if !within(score, s.element(b[middle:])) {
			break
		}
		at = elementEnd(b, middle)
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
	case sortedTree:
		if w.left > 0 {
			_, scores := z.store.sortedTrees(z.Ref)
			w.tree = scores.walk(rank, false)
		}
	}
	return w
}

// WalkDown visits all members from a rank on, downwards. Requires: rank < Count.
func (z *SortedSet) WalkDown(rank int) SortedWalk {
	w := SortedWalk{store: z.store, left: rank + 1, reverse: true}
	switch z.Ref.form() {
	case sortedPacked:
		w.bytes = z.store.packed(z.Ref)
		for i := range w.left {
			w.starts[i] = uint16(w.at)
			w.at = pairEnd(w.bytes, w.at)
		}
	case sortedTree:
		if w.left > 0 {
			_, scores := z.store.sortedTrees(z.Ref)
			w.tree = scores.walk(rank, true)
		}
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
		b := w.tree.entry()
		return w.store.element(b[keyBytes:]), keyScore(binary.LittleEndian.Uint64(b)), true
	}
	at := w.at
	if w.reverse {
		at = int(w.starts[w.left])
	}
	score, middle := readScore(w.bytes, at)
	w.at = elementEnd(w.bytes, middle)
	return w.store.element(w.bytes[middle:]), score, true
}

// At returns member i, and its score. Requires: it exists. Cost: O(Count) if packed, at
// most 128 steps.
func (z *SortedSet) At(i int) (member Element, score float64) {
	s := z.store
	if z.Ref.form() == sortedTree {
		_, scores := s.sortedTrees(z.Ref)
		b, at := scores.at(i)
		return s.element(b[at+keyBytes:]), keyScore(binary.LittleEndian.Uint64(b[at:]))
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
	if z.Ref.form() == sortedTree {
		index, _ := z.store.sortedTrees(z.Ref)
		return SortedScan{scan: index.scanFrom(cursor, n)}
	}
	return SortedScan{packed: z.Walk(0)}
}

// Next returns the next member, or false at the end.
func (c *SortedScan) Next() (member Element, score float64, ok bool) {
	s := c.scan.walk.tree.store
	if s == nil {
		return c.packed.Next()
	}
	b := c.scan.entry()
	if b == nil {
		return Element{}, 0, false
	}
	score, _ = readScore(b, elementEnd(b, keyBytes))
	return s.element(b[keyBytes:]), score, true
}

// Cursor returns the cursor of the next Scan, 0 if all members were visited. Requires:
// Next returned false.
func (c *SortedScan) Cursor() uint64 { return c.scan.cursor() }
