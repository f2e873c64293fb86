package values

import (
	"encoding/binary"
	"math"
)

// A tree holds the elements of a large hash, set or sorted set in an order. It is a B+
// tree with counts. Its blobs are leaves and nodes. A leaf is the number of bytes of its
// entries, in 2 bytes, and the entries, up to maxEntries:
//
//	key      8 bytes, the hash of the member, or a form of its score
//	member   as an element
//	value    of a field, as an element; the score, in the index of a sorted set
//
// A node is the number of its branches, in 2 bytes, and the branches, up to maxBranches:
//
//	key      8 bytes, of the first entry below it
//	blob     4 bytes
//	count    4 bytes, of the entries below it
//
// Leaves and nodes have no room: their blobs are as large as they are. All leaves are at
// the same depth. Neighbours are merged when both together have become small.
//
// Cost: every operation changes or reads a leaf of up to 9 KB, mostly below 2 KB, and a
// node of up to 0.5 KB for each level; a million entries have 3 to 5 levels of nodes.
type tree struct {
	store  *Store
	order  order
	root   blobRef // 0 if the tree is empty
	height int     // levels of nodes above the leaves
}

// An order is the order of the entries of a tree, and the form of its values.
type order uint8

const (
	setOrder   order = iota // by hash, without values
	fieldOrder              // by hash
	indexOrder              // by hash; values are scores
	scoreOrder              // by score, without values
)

const (
	maxEntries   = 32
	maxBranches  = 32
	mergedCount  = 24 // of entries or branches, at most, after a merge
	maxHeight    = 8
	keyBytes     = 8
	leafHead     = 2
	nodeHead     = 2
	branchBytes  = 16
	maxLeafText  = maxShortText // longer texts are texts of their own
	minusZeroKey = 1<<63 - 1
	plusZeroKey  = 1 << 63
)

// treeOf returns the tree of a large hash or set.
func (s *Store) treeOf(r Ref, o order) tree {
	return tree{store: s, order: o, root: r.blob(), height: r.length()}
}

// ref returns the reference to the tree of a hash or set.
func (t *tree) ref(f form) Ref { return makeRef(f, t.height, t.root) }

// encodeEntry returns a key and the stored form of a member in the Store's scratch memory.
func (s *Store) encodeEntry(key uint64, member []byte) []byte {
	s.scratch = binary.LittleEndian.AppendUint64(s.scratch[:0], key)
	s.scratch = s.appendElement(s.scratch, member, maxLeafText)
	return s.scratch
}

// scoreKey returns the key of a score: the order of keys is the order of scores, except
// that the key of -0 is before the key of 0.
func scoreKey(score float64) uint64 {
	bits := math.Float64bits(score)
	if bits>>63 != 0 {
		return ^bits
	}
	return bits | 1<<63
}

func keyScore(key uint64) float64 {
	if key>>63 != 0 {
		return math.Float64frombits(key &^ (1 << 63))
	}
	return math.Float64frombits(^key)
}

// A target is a place in the order of a tree. Entries before it are less than key and
// member, or also equal if through.
type target struct {
	key     uint64
	member  Element
	through bool
}

// target returns the place before a key and a member.
func (o order) target(key uint64, member Element) target {
	if o == scoreOrder && key == minusZeroKey {
		key = plusZeroKey
	}
	return target{key: key, member: member}
}

// keyAt returns the key at an offset, with 0 for -0.
func (o order) keyAt(b []byte, at int) uint64 {
	key := binary.LittleEndian.Uint64(b[at:])
	if o == scoreOrder && key == minusZeroKey {
		return plusZeroKey
	}
	return key
}

// entryEnd returns the offset after an entry.
func (o order) entryEnd(b []byte, at int) int {
	at = elementEnd(b, at+keyBytes)
	switch o {
	case fieldOrder:
		return elementEnd(b, at)
	case indexOrder:
		return at + 1 + int(b[at])
	}
	return at
}

// compare compares the entry at an offset with a target.
func (t *tree) compare(b []byte, at int, g *target) int {
	if key := t.order.keyAt(b, at); key != g.key {
		if key < g.key {
			return -1
		}
		return 1
	}
	return t.store.element(b[at+keyBytes:]).compare(g.member)
}

// isBefore reports whether the entry at an offset is before a target.
func (t *tree) isBefore(b []byte, at int, g *target) bool {
	c := t.compare(b, at, g)
	return c < 0 || c == 0 && g.through
}

// entries returns the entries of a leaf.
func (t *tree) entries(r blobRef) []byte {
	b := t.store.view(r)
	return b[leafHead : leafHead+int(binary.LittleEndian.Uint16(b))]
}

// A branch is a reference to a leaf or node from the node above.
type branch struct {
	key   uint64
	blob  blobRef
	count int
}

func branches(x []byte) int { return int(binary.LittleEndian.Uint16(x)) }

func branchAt(x []byte, i int) branch {
	x = x[nodeHead+i*branchBytes:]
	return branch{
		key: binary.LittleEndian.Uint64(x), blob: blobRef(binary.LittleEndian.Uint32(x[8:])),
		count: int(binary.LittleEndian.Uint32(x[12:])),
	}
}

func appendBranch(dst []byte, b branch) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, b.key)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(b.blob))
	return binary.LittleEndian.AppendUint32(dst, uint32(b.count))
}

func setBranch(x []byte, i int, b branch) { appendBranch(x[:nodeHead+i*branchBytes], b) }

// child returns a branch of a node, at a level from 1 on: the branch with the first entry
// that is not before a target, or the branch to insert that entry into. It is the last
// branch with a first entry before the target.
func (t *tree) child(x []byte, level int, g *target) int {
	lo, hi := 0, branches(x)
	for lo < hi {
		middle := (lo + hi) / 2
		at := nodeHead + middle*branchBytes
		before := false
		if key := t.order.keyAt(x, at); key != g.key {
			before = key < g.key
		} else {
			b := t.entries(t.firstLeaf(branchAt(x, middle).blob, level-1))
			before = t.isBefore(b, 0, g)
		}
		if before {
			lo = middle + 1
		} else {
			hi = middle
		}
	}
	return max(lo-1, 0)
}

// firstLeaf returns the first leaf below a leaf or node at a level.
func (t *tree) firstLeaf(r blobRef, level int) blobRef {
	for ; level > 0; level-- {
		r = branchAt(t.store.view(r), 0).blob
	}
	return r
}

// seekIn returns the offset of the first entry of a leaf that is not before a target, and
// the number of those before it.
func (t *tree) seekIn(b []byte, g *target) (at, n int) {
	for at < len(b) && t.isBefore(b, at, g) {
		at = t.order.entryEnd(b, at)
		n++
	}
	return at, n
}

// find returns the leaf of an entry equal to a target, and its offset.
func (t *tree) find(g *target) (leaf blobRef, at int, ok bool) {
	if t.root == 0 {
		return 0, 0, false
	}
	through := *g
	through.through = true
	leaf = t.root
	for level := t.height; level > 0; level-- {
		x := t.store.view(leaf)
		leaf = branchAt(x, t.child(x, level, &through)).blob
	}
	b := t.entries(leaf)
	at, _ = t.seekIn(b, g)
	return leaf, at, at < len(b) && t.compare(b, at, g) == 0
}

// rank returns the number of entries before a target.
func (t *tree) rank(g *target) (n int) {
	if t.root == 0 {
		return 0
	}
	r := t.root
	for level := t.height; level > 0; level-- {
		x := t.store.view(r)
		i := t.child(x, level, g)
		for j := range i {
			n += branchAt(x, j).count
		}
		r = branchAt(x, i).blob
	}
	_, in := t.seekIn(t.entries(r), g)
	return n + in
}

// at returns the entries of a leaf and the offset of entry i. Requires: it exists.
func (t *tree) at(i int) (b []byte, at int) {
	r := t.root
	for level := t.height; level > 0; level-- {
		x := t.store.view(r)
		j := 0
		for ; i >= branchAt(x, j).count; j++ {
			i -= branchAt(x, j).count
		}
		r = branchAt(x, j).blob
	}
	b = t.entries(r)
	for range i {
		at = t.order.entryEnd(b, at)
	}
	return b, at
}
