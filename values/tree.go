package values

import (
	"encoding/binary"
	"math"
)

// A large hash, set or sorted set is a treap of nodes, one for each element, each of them
// a blob:
//
//	hash of the member          8 bytes
//	children by hash            4, 4
//	size of the subtree         4
//	children by score           4, 4   only in sorted sets, as the score
//	score                       8
//	member                      as an element
//	value                       as an element; only in hashes
//
// A node of a sorted set is in two treaps, by hash and by score; the size is that of the
// latter. A mix of the hash is the random priority of both, so that their shapes depend
// only on their nodes, and can not be made deep without the seed, and both have the same
// root.
//
// Source: R. Seidel and C. Aragon, "Randomized search trees", 1996.
//
// Cost: every operation takes time in O(log n) on average.

// An order is one of the orders of nodes.
type order uint8

const (
	memberOrder order = iota // by hash, in hashes and sets
	hashOrder                // by hash, in sorted sets: without sizes
	scoreOrder               // by score, then member
)

const (
	nodeHash    = 0
	nodeByHash  = 8
	nodeSize    = 16
	nodeByScore = 20
	nodeScore   = 28
)

var (
	nodeChildren = [...]int{memberOrder: nodeByHash, hashOrder: nodeByHash, scoreOrder: nodeByScore}
	nodeElement  = [...]int{memberOrder: 20, hashOrder: 36, scoreOrder: 36}
)

func child(x []byte, o order, side int) blobRef {
	return blobRef(binary.LittleEndian.Uint32(x[nodeChildren[o]+4*side:]))
}

func setChild(x []byte, o order, side int, r blobRef) {
	binary.LittleEndian.PutUint32(x[nodeChildren[o]+4*side:], uint32(r))
}

func hashOf(x []byte) uint64 { return binary.LittleEndian.Uint64(x[nodeHash:]) }

func scoreOf(x []byte) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(x[nodeScore:]))
}

func setScore(x []byte, score float64) {
	binary.LittleEndian.PutUint64(x[nodeScore:], math.Float64bits(score))
}

func sizeOf(x []byte) int { return int(binary.LittleEndian.Uint32(x[nodeSize:])) }

func addSize(x []byte, n int) {
	binary.LittleEndian.PutUint32(x[nodeSize:], uint32(sizeOf(x)+n))
}

func (s *Store) size(r blobRef) int {
	if r == 0 {
		return 0
	}
	return sizeOf(s.view(r))
}

// member returns the member of a node.
func (s *Store) member(o order, x []byte) Element { return s.element(x[nodeElement[o]:]) }

// newNode returns a node outside of all trees, with the stored forms of its element and,
// in hashes, its value.
func (s *Store) newNode(o order, hash uint64, element, value []byte) blobRef {
	at := nodeElement[o]
	r := s.alloc(at + len(element) + len(value))
	x := s.edit(r)
	clear(x[:at])
	binary.LittleEndian.PutUint64(x[nodeHash:], hash)
	addSize(x, 1)
	at += copy(x[at:], element)
	copy(x[at:], value)
	return r
}

// releaseNode frees a node and its elements.
func (s *Store) releaseNode(f form, r blobRef) {
	x := s.view(r)
	at := nodeElement[f.order()]
	s.releaseElement(x[at:])
	if f == hashNodes {
		s.releaseElement(x[elementEnd(x, at):])
	}
	s.release(r)
}

// order returns the order by hash of the nodes of a form.
func (f form) order() order {
	if f == sortedNodes {
		return hashOrder
	}
	return memberOrder
}

// priority returns a number that is as random as a hash, and independent of the order of
// hashes.
func priority(hash uint64) uint64 {
	hash ^= hash >> 32
	hash *= 0xd6e8feb86659fd93
	hash ^= hash >> 32
	return hash
}

// above reports whether node x has a higher priority than y.
func (s *Store) above(o order, x, y []byte) bool {
	if a, b := hashOf(x), hashOf(y); a != b {
		return priority(a) > priority(b)
	}
	return s.member(o, x).compare(s.member(o, y)) > 0
}

// before reports whether node x is before y.
func (s *Store) before(o order, x, y []byte) bool {
	if o == scoreOrder {
		if a, b := scoreOf(x), scoreOf(y); a != b {
			return a < b
		}
	} else if a, b := hashOf(x), hashOf(y); a != b {
		return a < b
	}
	return s.member(o, x).compare(s.member(o, y)) < 0
}

// sideOf returns the side of node x on which y is, or would be.
func (s *Store) sideOf(o order, x, y []byte) int {
	if s.before(o, x, y) {
		return 1
	}
	return 0
}

// find returns the node of a member, or 0. o is not scoreOrder.
func (s *Store) find(o order, root blobRef, hash uint64, member []byte) blobRef {
	for r := root; r != 0; {
		x := s.view(r)
		side := 0
		if h := hashOf(x); h < hash {
			side = 1
		} else if h == hash {
			c := s.member(o, x).Compare(member)
			if c == 0 {
				return r
			}
			side = int(uint(c) >> 63)
		}
		r = child(x, o, side)
	}
	return 0
}

// nodeAt returns the node after i others. Requires: it exists.
func (s *Store) nodeAt(o order, root blobRef, i int) blobRef {
	for r := root; ; {
		x := s.view(r)
		left := child(x, o, 0)
		switch n := s.size(left); {
		case i < n:
			r = left
		case i == n:
			return r
		default:
			i -= n + 1
			r = child(x, o, 1)
		}
	}
}

// rankOf returns the number of nodes before r, which must be in the tree.
func (s *Store) rankOf(o order, root, r blobRef) (rank int) {
	y := s.view(r)
	for at := root; ; {
		x := s.view(at)
		if at != r && !s.before(o, x, y) {
			at = child(x, o, 0)
			continue
		}
		rank += s.size(child(x, o, 0))
		if at == r {
			return rank
		}
		rank++
		at = child(x, o, 1)
	}
}

// add inserts node r into the tree at root and returns its root.
func (s *Store) add(o order, root, r blobRef) blobRef {
	if root == 0 {
		return r
	}
	x, y := s.view(root), s.view(r)
	if s.above(o, y, x) {
		less, greater := s.split(o, root, r)
		y = s.edit(r)
		setChild(y, o, 0, less)
		setChild(y, o, 1, greater)
		s.count(o, y)
		return r
	}
	side := s.sideOf(o, x, y)
	old := child(x, o, side)
	below := s.add(o, old, r)
	if below == old && o == hashOrder {
		return root
	}
	x = s.edit(root)
	setChild(x, o, side, below)
	if o != hashOrder {
		addSize(x, 1)
	}
	return root
}

// split divides a tree into the nodes before r and those after.
func (s *Store) split(o order, root, r blobRef) (less, greater blobRef) {
	if root == 0 {
		return 0, 0
	}
	x := s.view(root)
	if s.before(o, x, s.view(r)) {
		below, greater := s.split(o, child(x, o, 1), r)
		x = s.edit(root)
		setChild(x, o, 1, below)
		s.count(o, x)
		return root, greater
	}
	less, below := s.split(o, child(x, o, 0), r)
	x = s.edit(root)
	setChild(x, o, 0, below)
	s.count(o, x)
	return less, root
}

// cut removes node r, which must be there, from the tree at root and returns its root.
func (s *Store) cut(o order, root, r blobRef) blobRef {
	x := s.view(root)
	if root == r {
		return s.join(o, child(x, o, 0), child(x, o, 1))
	}
	side := s.sideOf(o, x, s.view(r))
	old := child(x, o, side)
	below := s.cut(o, old, r)
	if below == old && o == hashOrder {
		return root
	}
	x = s.edit(root)
	setChild(x, o, side, below)
	if o != hashOrder {
		addSize(x, -1)
	}
	return root
}

// join returns one tree of two, the first of which is before the second.
func (s *Store) join(o order, a, b blobRef) blobRef {
	if a == 0 || b == 0 {
		return a | b
	}
	x, y := s.view(a), s.view(b)
	if s.above(o, x, y) {
		below := s.join(o, child(x, o, 1), b)
		x = s.edit(a)
		setChild(x, o, 1, below)
		s.count(o, x)
		return a
	}
	below := s.join(o, a, child(y, o, 0))
	y = s.edit(b)
	setChild(y, o, 0, below)
	s.count(o, y)
	return b
}

// count sets the size of a node from those of its children.
func (s *Store) count(o order, x []byte) {
	if o != hashOrder {
		n := s.size(child(x, o, 0)) + s.size(child(x, o, 1)) + 1
		addSize(x, n-sizeOf(x))
	}
}

// replace puts node r, a copy of the node old with the same member, in its place in the
// tree at root and returns its root. o is memberOrder.
func (s *Store) replace(root, old, r blobRef) blobRef {
	if root == old {
		return r
	}
	y := s.view(r)
	for at := root; ; {
		x := s.view(at)
		side := s.sideOf(memberOrder, x, y)
		next := child(x, memberOrder, side)
		if next == old {
			setChild(s.edit(at), memberOrder, side, r)
			return root
		}
		at = next
	}
}
