package values

import "math"

// A SortedSet is a cursor on a sorted set. Its functions that change the set change Head,
// which the owner must then keep. Arguments must not be memory of the Store.
//
// Members are in the order of their scores, and of their bytes if the scores are equal.
// Up to 128 members of up to 64 bytes are packed.
type SortedSet struct {
	store *Store
	Head
}

// SortedSet returns a cursor on the sorted set of h, which may be empty.
func (s *Store) SortedSet(h Head) SortedSet { return SortedSet{s, h} }

// AddFlags are conditions of Add, as the options of ZADD with these letters.
type AddFlags uint8

const (
	OnlyNew     AddFlags = 1 << iota // NX
	OnlyOld                          // XX
	OnlyGreater                      // GT
	OnlyLess                         // LT
	Increment                        // INCR: the score is added to the member's score
)

// An Added is the effect of an Add.
type Added uint8

const (
	Prevented  Added = iota // by a condition
	Same                    // the member has the score already
	Created                 // the member is new
	Updated                 // the member has another score
	NotANumber              // the score, or the sum, is not a number; nothing changed
)

// Add adds a member or changes its score, and returns the score of the member if it was
// not prevented.
func (z *SortedSet) Add(member []byte, score float64, flags AddFlags) (Added, float64) {
	if math.IsNaN(score) {
		return NotANumber, 0
	}
	s := z.store
	place, old, exists := z.find(member)
	switch {
	case !exists && flags&OnlyOld != 0, exists && flags&OnlyNew != 0:
		return Prevented, 0
	case !exists:
		z.Change = s.changed()
		z.insert(member, score)
		return Created, score
	}
	if flags&Increment != 0 {
		if score += old; math.IsNaN(score) {
			return NotANumber, 0
		}
	}
	switch {
	case flags&OnlyLess != 0 && score >= old, flags&OnlyGreater != 0 && score <= old:
		return Prevented, 0
	case score == old:
		return Same, score
	}
	z.Change = s.changed()
	if z.Ref.form() == sortedPacked {
		z.cutPacked(place)
		z.insertPacked(s.encode(member), score)
		return Updated, score
	}
	z.moveInTrees(member, old, score)
	return Updated, score
}

// A place is the offsets of a member in a packed sequence.
type place struct{ at, end int }

// find returns the score of a member, and its place if the set is packed.
func (z *SortedSet) find(member []byte) (p place, score float64, ok bool) {
	s := z.store
	switch z.Ref.form() {
	case sortedPacked:
		if !isShort(member) {
			return p, 0, false
		}
		b, element := s.packed(z.Ref), s.encode(member)
		for at := 0; at < len(b); {
			middle := at + 1 + int(b[at])
			end := elementEnd(b, middle)
			if string(b[middle:end]) == string(element) {
				score, _ = readScore(b, at)
				return place{at, end}, score, true
			}
			at = end
		}
	case sortedTree:
		index, _ := s.sortedTrees(z.Ref)
		g := index.order.target(s.key.Sum(member), Element{text: member})
		if leaf, at, ok := index.find(&g); ok {
			b := index.entries(leaf)
			score, _ = readScore(b, elementEnd(b, at+keyBytes))
			return p, score, true
		}
	}
	return p, 0, false
}

// insert adds a member that is missing.
func (z *SortedSet) insert(member []byte, score float64) {
	s := z.store
	if z.Ref == 0 {
		z.Ref = makeRef(sortedPacked, 0, 0)
	}
	if z.Ref.form() == sortedPacked {
		if z.Count < maxPacked && isShort(member) {
			z.insertPacked(s.encode(member), score)
			z.Count++
			return
		}
		z.unpack()
	}
	z.insertInTrees(member, score)
}

// insertPacked adds a member, in its stored form in the scratch memory, at its place.
func (z *SortedSet) insertPacked(element []byte, score float64) {
	s := z.store
	var (
		at     = 0
		middle = len(element)
		member = s.element(element)
	)
	if n := z.Ref.length(); n > 0 {
		b := s.packed(z.Ref)
		for at < n {
			x, middle := readScore(b, at)
			if x > score || x == score && s.element(b[middle:]).compare(member) > 0 {
				break
			}
			at = elementEnd(b, middle)
		}
	}
	if score == 0 {
		score = 0 // without the sign that it may have, as in Redis
	}
	s.scratch = appendScore(element, score)
	s.scratch = append(s.scratch, s.scratch[:middle]...)
	z.Ref = s.splice(z.Ref, at, 0, s.scratch[middle:])
}

// cutPacked removes the bytes of a member, so that the sequence may become empty.
func (z *SortedSet) cutPacked(p place) {
	z.Ref = z.store.splice(z.Ref, p.at, p.end-p.at, nil)
	if z.Ref == 0 {
		z.Ref = makeRef(sortedPacked, 0, 0)
	}
}

// Reserve stores the set for so many more members; the longest member has longest bytes. It
// becomes a large set if there are more than 128, or if it is empty and the longest has
// more than 64 bytes.
func (z *SortedSet) Reserve(members, longest int) {
	isEmpty := z.Ref == 0
	if members > maxPacked && z.Ref.form() != sortedTree || longest > maxPackedText && isEmpty {
		z.unpack()
	}
}

// unpack stores the set as trees.
func (z *SortedSet) unpack() {
	s, old := z.store, z.Ref
	var b []byte
	if old.length() > 0 {
		b = s.packed(old)
	}
	z.Ref, z.Count = makeRef(sortedTree, 0, 0), 0
	var buf [maxPackedText]byte
	for at := 0; at < len(b); {
		score, middle := readScore(b, at)
		at = elementEnd(b, middle)
		z.insertInTrees(s.element(b[middle:]).Append(buf[:0]), score)
	}
	if len(b) > 0 {
		s.release(old.blob())
	}
}

// Score returns the score of a member.
func (z *SortedSet) Score(member []byte) (score float64, ok bool) {
	_, score, ok = z.find(member)
	return score, ok
}

// Rank returns the number of members before a member.
func (z *SortedSet) Rank(member []byte) (rank int, ok bool) {
	p, score, ok := z.find(member)
	if !ok {
		return 0, false
	}
	if z.Ref.form() == sortedTree {
		_, scores := z.store.sortedTrees(z.Ref)
		g := scores.order.target(scoreKey(score), Element{text: member})
		return scores.rank(&g), true
	}
	b := z.store.packed(z.Ref)
	for at := 0; at < p.at; rank++ {
		at = pairEnd(b, at)
	}
	return rank, true
}

// pairEnd returns the offset after a score and a member.
func pairEnd(b []byte, at int) int { return elementEnd(b, at+1+int(b[at])) }

// Remove removes a member and reports whether it was in the set.
func (z *SortedSet) Remove(member []byte) bool {
	p, score, ok := z.find(member)
	if !ok {
		return false
	}
	z.Change = z.store.changed()
	if z.Ref.form() == sortedTree {
		z.removeFromTrees(member, score)
		return true
	}
	z.cutPacked(p)
	z.removed(1)
	return true
}

// RemoveRange removes n members, starting at index from. Requires: they exist. Cost: O(n).
func (z *SortedSet) RemoveRange(from, n int) {
	if n <= 0 {
		return
	}
	s := z.store
	z.Change = s.changed()
	if n == z.Count {
		s.Free(z.Head)
		z.removed(n)
		return
	}
	if z.Ref.form() == sortedTree {
		z.removeRangeFromTrees(from, n)
		return
	}
	b := s.packed(z.Ref)
	at := 0
	for range from {
		at = pairEnd(b, at)
	}
	end := at
	for range n {
		end = pairEnd(b, end)
	}
	z.cutPacked(place{at, end})
	z.removed(n)
}
