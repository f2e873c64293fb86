package values

import "encoding/binary"

// A large sorted set is two trees: the index, by hash of the member, with the scores as
// values, and the members by score. Its blob is its head:
//
//	roots of the index and of the tree by score      4, 4
//	their heights                                    1, 1
//
// A text of its own, of a long member, belongs to the index.
const sortedHead = 10

// sortedTrees returns the trees of a large sorted set.
func (s *Store) sortedTrees(r Ref) (index, scores tree) {
	index, scores = tree{store: s, order: indexOrder}, tree{store: s, order: scoreOrder}
	if r.blob() != 0 {
		b := s.view(r.blob())
		index.root, index.height = blobRef(binary.LittleEndian.Uint32(b)), int(b[8])
		scores.root, scores.height = blobRef(binary.LittleEndian.Uint32(b[4:])), int(b[9])
	}
	return index, scores
}

// setTrees stores the trees.
func (z *SortedSet) setTrees(index, scores *tree) {
	s, blob := z.store, z.Ref.blob()
	switch {
	case index.root == 0:
		s.release(blob)
		z.Ref = makeRef(sortedTree, 0, 0)
		return
	case blob == 0:
		blob = s.alloc(sortedHead)
		z.Ref = makeRef(sortedTree, 0, blob)
	}
	b := s.edit(blob)
	binary.LittleEndian.PutUint32(b, uint32(index.root))
	binary.LittleEndian.PutUint32(b[4:], uint32(scores.root))
	b[8], b[9] = uint8(index.height), uint8(scores.height)
}

// insertInTrees adds a member that is missing.
func (z *SortedSet) insertInTrees(member []byte, score float64) {
	s := z.store
	index, scores := s.sortedTrees(z.Ref)
	g := index.order.target(s.key.Sum(member), Element{text: member})
	end := len(s.encodeEntry(g.key, member))
	s.scratch = appendScore(s.scratch, score)
	index.add(z.Count, &g, s.scratch)
	g = scores.order.target(scoreKey(score), g.member)
	binary.LittleEndian.PutUint64(s.scratch, scoreKey(score))
	scores.add(z.Count, &g, s.scratch[:end])
	z.setTrees(&index, &scores)
	z.Count++
}

// moveInTrees changes the score of a member from old.
func (z *SortedSet) moveInTrees(member []byte, old, score float64) {
	s := z.store
	index, scores := s.sortedTrees(z.Ref)
	g := index.order.target(s.key.Sum(member), Element{text: member})
	leaf, at, _ := index.find(&g)
	b := index.entries(leaf)
	s.scratch = binary.LittleEndian.AppendUint64(s.scratch[:0], scoreKey(score))
	s.scratch = append(s.scratch, b[at+keyBytes:elementEnd(b, at+keyBytes)]...)
	end := len(s.scratch)
	s.scratch = appendScore(s.scratch, score)
	index.setValue(&g, leaf, at, s.scratch[end:])
	g = scores.order.target(scoreKey(old), g.member)
	scores.remove(z.Count, &g)
	g = scores.order.target(scoreKey(score), g.member)
	scores.add(z.Count-1, &g, s.scratch[:end])
	z.setTrees(&index, &scores)
}

// maxRemoved bounds the members that are removed in one pass, because each member needs memory
// during it.
const maxRemoved = 1 << 16

// fewRemoved is the largest number of members that are cheaper to remove one by one.
const fewRemoved = 8

// removeRangeFromTrees removes n members, starting at index from. Requires: other members remain.
func (z *SortedSet) removeRangeFromTrees(from, n int) {
	s := z.store
	for ; n > 0 && n <= fewRemoved; n-- {
		member, score := z.At(from)
		s.member = member.Append(s.member[:0])
		z.removeFromTrees(s.member, score)
	}
	for n > 0 {
		some := min(n, maxRemoved)
		z.removeManyFromTrees(from, some)
		n -= some
	}
}

// removeManyFromTrees is removeRangeFromTrees for at most maxRemoved members.
func (z *SortedSet) removeManyFromTrees(from, n int) {
	s := z.store
	index, scores := s.sortedTrees(z.Ref)
	gone := make([]target, 0, n)
	walk := scores.walk(from, false)
	for range n {
		member := s.element(walk.entry()[keyBytes:])
		s.member = member.Append(s.member[:0])
		gone = append(gone, target{key: s.key.Sum(s.member), member: member})
	}
	index.removeEach(z.Count, sortTargets(gone))
	scores.removeRange(z.Count, from, n)
	z.setTrees(&index, &scores)
	z.removed(n)
}

// removeFromTrees removes a member that has a score.
func (z *SortedSet) removeFromTrees(member []byte, score float64) {
	s := z.store
	index, scores := s.sortedTrees(z.Ref)
	g := index.order.target(s.key.Sum(member), Element{text: member})
	leaf, at, _ := index.find(&g)
	stored := s.element(index.entries(leaf)[at+keyBytes:])
	index.remove(z.Count, &g)
	g = scores.order.target(scoreKey(score), g.member)
	scores.remove(z.Count, &g)
	s.releaseElement(stored)
	z.setTrees(&index, &scores)
	z.removed(1)
}
