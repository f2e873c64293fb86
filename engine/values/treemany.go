package values

import (
	"cmp"
	"encoding/binary"
)

// removeRange removes n entries, starting at index from, from the score tree of a sorted set with
// count entries. Requires: they exist. Cost: O(log count); whole leaves are freed later, see
// Collect.
func (t *tree) removeRange(count, from, n int) {
	t.root = t.cut(branch{blob: t.root, count: count}, t.height, from, n).blob
	t.lower()
}

// cut removes n entries, starting at index from, below the branch b at this level. It returns the
// new branch; its blob is 0 if no entry is left.
func (t *tree) cut(b branch, level, from, n int) branch {
	s := t.store
	switch {
	case n == b.count:
		s.discard(tree{store: s, order: t.order, root: b.blob, height: level})
		return branch{}
	case level == 0:
		all, at := t.entries(b.blob), 0
		for range from {
			at = t.order.entryEnd(all, at)
		}
		end := at
		for range n {
			end = t.order.entryEnd(all, end)
		}
		b.blob, b.count = s.spliceLeaf(b.blob, at, end-at, nil), b.count-n
		b.key = binary.LittleEndian.Uint64(t.entries(b.blob))
		return b
	}
	var buf [maxBranches + 1]branch
	left := buf[:0]
	for i := range branches(s.view(b.blob)) {
		below := branchAt(s.view(b.blob), i)
		count := below.count
		if within := min(count-from, n); from < count && within > 0 {
			below = t.cut(below, level-1, from, within)
			n -= within
		}
		from = max(0, from-count)
		left = t.join(left, below, level-1)
	}
	return s.setNode(b, left)
}

// join appends branch b to the branches of a node, or merges it with the last branch if both are
// small. It ignores b if its blob is 0.
func (t *tree) join(all []branch, b branch, level int) []branch {
	if b.blob == 0 {
		return all
	}
	if last := len(all) - 1; last >= 0 {
		m, n := t.extent(all[last], level), t.extent(b, level)
		if min(m, n) <= mergedCount/2 && m+n <= mergedCount {
			all[last].blob = t.merge(all[last].blob, b.blob, level)
			all[last].count += b.count
			return all
		}
	}
	return append(all, b)
}

// setNode replaces the branches of a node, and returns the branch to that node; its blob is 0 if no
// branch is left.
func (s *Store) setNode(b branch, all []branch) branch {
	if len(all) == 0 {
		s.release(b.blob)
		return branch{}
	}
	var buf [(maxBranches + 1) * branchBytes]byte
	bytes := buf[:0]
	b.key, b.count = all[0].key, 0
	for _, below := range all {
		b.count += below.count
		bytes = appendBranch(bytes, below)
	}
	n := branches(s.view(b.blob)) * branchBytes
	b.blob = s.spliceBlob(b.blob, nodeHead+n, nodeHead, n, bytes)
	binary.LittleEndian.PutUint16(s.edit(b.blob), uint16(len(all)))
	return b
}

// lower replaces a root that has only one branch with the node below, repeatedly.
func (t *tree) lower() {
	if t.root == 0 {
		t.height = 0
	}
	for t.height > 0 && branches(t.store.view(t.root)) == 1 {
		only := branchAt(t.store.view(t.root), 0).blob
		t.store.release(t.root)
		t.root = only
		t.height--
	}
}

// removeEach removes the entries equal to the targets, and frees their texts. Requires: they exist,
// and the targets are in the order of the tree. Cost: each leaf and node on the way is changed
// once.
func (t *tree) removeEach(count int, gone []target) {
	t.root = t.removeAll(branch{blob: t.root, count: count}, t.height, gone).blob
	t.lower()
}

// sortTargets returns the targets in the order of a hash tree.
func sortTargets(all []target) []target {
	return sortByHash(all, func(g *target) uint64 { return g.key }, func(a, b target) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return a.member.compare(b.member)
	})
}

// removeAll removes the entries equal to the targets below branch b at this level. It returns the
// new branch; its blob is 0 if no entry is left.
func (t *tree) removeAll(b branch, level int, gone []target) branch {
	s := t.store
	if level == 0 {
		return t.removeFromLeaf(b, gone)
	}
	var buf [maxBranches + 1]branch
	left, n := buf[:0], branches(s.view(b.blob))
	for i := range n {
		x := s.view(b.blob)
		below, here := branchAt(x, i), len(gone)
		if i+1 < n {
			here = t.before(gone, branchAt(x, i+1), level-1)
		}
		if here > 0 {
			below = t.removeAll(below, level-1, gone[:here])
			gone = gone[here:]
		}
		left = t.join(left, below, level-1)
	}
	return s.setNode(b, left)
}

// before returns the number of targets that precede the first entry below branch b at this level.
func (t *tree) before(gone []target, b branch, level int) (n int) {
	for n < len(gone) && gone[n].key < b.key {
		n++
	}
	if n < len(gone) && gone[n].key == b.key {
		first := t.entries(t.firstLeaf(b.blob, level))
		for n < len(gone) && gone[n].key == b.key && t.compare(first, 0, &gone[n]) > 0 {
			n++
		}
	}
	return n
}

// removeFromLeaf is removeAll for a leaf.
func (t *tree) removeFromLeaf(b branch, gone []target) branch {
	s := t.store
	all := t.entries(b.blob)
	kept, n := s.scratch[:0], 0
	for at := 0; at < len(all); {
		end := t.order.entryEnd(all, at)
		if len(gone) > 0 && t.compare(all, at, &gone[0]) == 0 {
			s.releaseElement(s.element(all[at+keyBytes:]))
			gone = gone[1:]
		} else {
			kept = append(kept, all[at:end]...)
			n++
		}
		at = end
	}
	s.scratch = kept
	if n == 0 {
		s.release(b.blob)
		return branch{}
	}
	b.blob, b.count = s.spliceLeaf(b.blob, 0, len(all), kept), n
	b.key = binary.LittleEndian.Uint64(kept)
	return b
}
