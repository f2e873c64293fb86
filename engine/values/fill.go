package values

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// filledCount is the number of entries of a new leaf, or branches of a new node, so that later
// entries do not split them at once.
const filledCount = 24

// A treeBuilder makes a tree of entries that arrive in the order of the tree.
type treeBuilder struct {
	tree
	entries []byte // of the leaf that is not complete
	count   int    // of these entries
	leaves  []branch
}

// add adds the next entry.
func (t *treeBuilder) add(entry ...[]byte) {
	if t.count == filledCount {
		t.endLeaf()
	}
	for _, part := range entry {
		t.entries = append(t.entries, part...)
	}
	t.count++
}

func (t *treeBuilder) endLeaf() {
	key := binary.LittleEndian.Uint64(t.entries)
	t.leaves = append(t.leaves, branch{key: key, blob: t.store.newLeaf(t.entries), count: t.count})
	t.entries, t.count = t.entries[:0], 0
}

// done returns the tree. Requires: it has an entry.
func (t *treeBuilder) done() tree {
	t.endLeaf()
	all := t.leaves
	for ; len(all) > 1; t.height++ {
		above := all[:0]
		for part := range slices.Chunk(all, filledCount) {
			b := branch{key: part[0].key}
			t.entries = t.entries[:0]
			for _, below := range part {
				t.entries = appendBranch(t.entries, below)
				b.count += below.count
			}
			b.blob = t.store.newNode(t.entries)
			above = append(above, b)
		}
		all = above
	}
	t.root = all[0].blob
	return t.tree
}

// A Hashed is a member in a text: its hash, see Set.Hash, and its place.
type Hashed struct {
	Hash    uint64
	At, Len int
}

// MinFilled is the least number of members for Set.Fill.
const MinFilled = maxInts + 1

// Fill fills the set with members, as if each was added to an empty set in their order.
// It changes the order of members. Requires: the set is empty, and there are at least MinFilled
// members, all different. Cost: linear, without look-ups.
func (t *Set) Fill(text []byte, members []Hashed) {
	s := t.store
	members = sortByHash(members, func(m *Hashed) uint64 { return m.Hash }, func(a, b Hashed) int {
		return cmp.Or(cmp.Compare(a.Hash, b.Hash), bytes.Compare(text[a.At:a.At+a.Len], text[b.At:b.At+b.Len]))
	})
	b := treeBuilder{tree: tree{store: s, order: setOrder}}
	for i := range members {
		m := &members[i]
		b.add(s.encodeEntry(m.Hash, text[m.At:m.At+m.Len]))
	}
	built := b.done()
	t.Ref, t.Count, t.Change = built.ref(setTree), len(members), s.changedBy(len(members))
}

// A stored is the hash of a member, its score, and the place of its stored form.
type stored struct {
	hash    uint64
	score   float64
	at, len int
}

// FillRange fills the sorted set with n members of another sorted set, from index from on, as if each
// was added to an empty set. Requires: the set is empty, n is above 0, and the Stores of both
// sets have the same seed. Cost: linear, without look-ups, from 129 members on.
func (z *SortedSet) FillRange(of *SortedSet, from, n int) {
	s, walk := z.store, of.Walk(from)
	if n <= maxPacked {
		for range n {
			member, score, _ := walk.Next()
			s.member = member.Append(s.member[:0])
			z.Add(s.member, score, 0)
		}
		return
	}
	var (
		all      []byte
		members  = make([]stored, n)
		scores   = treeBuilder{tree: tree{store: s, order: scoreOrder}}
		index    = treeBuilder{tree: tree{store: s, order: indexOrder}}
		key      [keyBytes]byte
		compared = func(a, b stored) int {
			if a.hash != b.hash {
				return cmp.Compare(a.hash, b.hash)
			}
			return s.element(all[a.at:]).compare(s.element(all[b.at:]))
		}
	)
	for i := range members {
		member, score, _ := walk.Next()
		s.member = member.Append(s.member[:0])
		m := stored{hash: s.key.Sum(s.member), score: score, at: len(all)}
		all = s.appendElement(all, s.member, maxLeafText)
		m.len = len(all) - m.at
		members[i] = m
		binary.LittleEndian.PutUint64(key[:], scoreKey(score))
		scores.add(key[:], all[m.at:])
	}
	for _, m := range sortByHash(members, func(m *stored) uint64 { return m.hash }, compared) {
		binary.LittleEndian.PutUint64(key[:], m.hash)
		s.scratch = appendScore(s.scratch[:0], m.score)
		index.add(key[:], all[m.at:m.at+m.len], s.scratch)
	}
	byHash, byScore := index.done(), scores.done()
	z.Ref = makeRef(sortedTree, 0, 0)
	z.setTrees(&byHash, &byScore)
	z.Count, z.Change = n, s.changedBy(n)
}
