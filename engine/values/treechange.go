package values

import "encoding/binary"

// add inserts an entry before a target into a tree of count entries.
func (t *tree) add(count int, g *target, entry []byte) {
	s := t.store
	if t.root == 0 {
		t.root = s.newLeaf(entry)
		return
	}
	self, other := t.addBelow(branch{blob: t.root, count: count}, t.height, g, entry)
	t.root = self.blob
	if other.blob != 0 {
		t.root = s.newNode(appendBranch(appendBranch(nil, self), other))
		t.height++
	}
}

// addBelow inserts an entry below a branch at a level, and returns the branch. If it was
// split, other is the second branch.
func (t *tree) addBelow(b branch, level int, g *target, entry []byte) (self, other branch) {
	s := t.store
	if level == 0 {
		at, _ := t.seekIn(t.entries(b.blob), g)
		b.blob = s.spliceLeaf(b.blob, at, 0, entry)
		b.count++
		if b.count > maxEntries {
			b, other = t.splitLeaf(b)
		}
		b.key = binary.LittleEndian.Uint64(t.entries(b.blob))
		return b, other
	}
	x := s.view(b.blob)
	i := t.child(x, level, g)
	first, second := t.addBelow(branchAt(x, i), level-1, g, entry)
	x = s.edit(b.blob)
	setBranch(x, i, first)
	b.count++
	b.key = branchAt(x, 0).key
	if second.blob != 0 {
		b.blob = s.spliceNode(b.blob, i+1, 0, second)
		if branches(s.view(b.blob)) > maxBranches {
			return s.splitNode(b)
		}
	}
	return b, branch{}
}

// splitLeaf moves half of the entries of a leaf to another.
func (t *tree) splitLeaf(b branch) (self, other branch) {
	s, all := t.store, t.entries(b.blob)
	half, at := b.count/2, 0
	for range half {
		at = t.order.entryEnd(all, at)
	}
	other = branch{blob: s.newLeaf(all[at:]), count: b.count - half, key: binary.LittleEndian.Uint64(all[at:])}
	b.blob, b.count = s.spliceLeaf(b.blob, at, len(all)-at, nil), half
	return b, other
}

// splitNode moves half of the branches of a node to another.
func (s *Store) splitNode(b branch) (self, other branch) {
	x := s.view(b.blob)
	n, half := branches(x), branches(x)/2
	for i := half; i < n; i++ {
		other.count += branchAt(x, i).count
	}
	other.key = branchAt(x, half).key
	other.blob = s.newNode(x[nodeHead+half*branchBytes : nodeHead+n*branchBytes])
	b.blob = s.spliceNode(b.blob, half, n-half)
	b.count -= other.count
	return b, other
}

// remove removes the entry equal to a target, which must be there, from a tree of count
// entries.
func (t *tree) remove(count int, g *target) {
	through := *g
	through.through = true
	t.root = t.removeBelow(branch{blob: t.root, count: count}, t.height, &through).blob
	if t.root == 0 {
		t.height = 0
		return
	}
	for t.height > 0 {
		x := t.store.view(t.root)
		if branches(x) > 1 {
			return
		}
		only := branchAt(x, 0).blob
		t.store.release(t.root)
		t.root = only
		t.height--
	}
}

// removeBelow removes the last entry before a target below a branch at a level, and
// returns the branch, without a blob if nothing is left.
func (t *tree) removeBelow(b branch, level int, g *target) branch {
	s := t.store
	if level == 0 {
		return t.removeIn(b, g)
	}
	x := s.view(b.blob)
	i := t.child(x, level, g)
	below := t.removeBelow(branchAt(x, i), level-1, g)
	if b.count--; b.count == 0 {
		s.release(b.blob)
		return branch{}
	}
	if below.blob == 0 {
		b.blob = s.spliceNode(b.blob, i, 1)
	} else {
		setBranch(s.edit(b.blob), i, below)
		b.blob = t.mergeAt(b.blob, level, i)
	}
	b.key = branchAt(s.view(b.blob), 0).key
	return b
}

// removeIn removes the last entry before a target from a leaf.
func (t *tree) removeIn(b branch, g *target) branch {
	s := t.store
	if b.count == 1 {
		s.release(b.blob)
		return branch{}
	}
	all := t.entries(b.blob)
	at, end := 0, t.order.entryEnd(all, 0)
	for end < len(all) && t.isBefore(all, end, g) {
		at, end = end, t.order.entryEnd(all, end)
	}
	b.blob = s.spliceLeaf(b.blob, at, end-at, nil)
	b.count--
	b.key = binary.LittleEndian.Uint64(t.entries(b.blob))
	return b
}

// mergeAt merges the i-th branch of a node at a level with a neighbour, and returns the node. It
// merges if the branch has at most mergedCount/2 entries, and the two together at most mergedCount.
func (t *tree) mergeAt(r blobRef, level, i int) blobRef {
	x := t.store.view(r)
	n := t.extent(branchAt(x, i), level-1)
	if n > mergedCount/2 {
		return r
	}
	for _, first := range [...]int{i, i - 1} {
		if first < 0 || first+1 == branches(x) {
			continue
		}
		a, b := branchAt(x, first), branchAt(x, first+1)
		if t.extent(a, level-1)+t.extent(b, level-1) > mergedCount {
			continue
		}
		a.blob = t.merge(a.blob, b.blob, level-1)
		a.count += b.count
		setBranch(t.store.edit(r), first, a)
		return t.store.spliceNode(r, first+1, 1)
	}
	return r
}

// extent returns the number of entries of a leaf or branches of a node.
func (t *tree) extent(b branch, level int) int {
	if level == 0 {
		return b.count
	}
	return branches(t.store.view(b.blob))
}

// merge returns a leaf or node of two.
func (t *tree) merge(a, b blobRef, level int) blobRef {
	s := t.store
	if level == 0 {
		a = s.spliceLeaf(a, len(t.entries(a)), 0, t.entries(b))
	} else {
		x := s.view(b)
		for i := range branches(x) {
			a = s.spliceNode(a, branches(s.view(a)), 0, branchAt(x, i))
		}
	}
	s.release(b)
	return a
}

// setValue replaces the value of the entry that find returned for a target.
func (t *tree) setValue(g *target, leaf blobRef, at int, value []byte) {
	b := t.entries(leaf)
	from, end := elementEnd(b, at+keyBytes), t.order.entryEnd(b, at)
	if end-from == len(value) {
		copy(t.store.edit(leaf)[leafHead+from:], value)
		return
	}
	through := *g
	through.through = true
	t.root = t.setBelow(t.root, t.height, &through, value)
}

// setBelow replaces the value of the last entry before a target below a leaf or node at a
// level, and returns its blob.
func (t *tree) setBelow(r blobRef, level int, g *target, value []byte) blobRef {
	s := t.store
	if level == 0 {
		all := t.entries(r)
		at, end := 0, t.order.entryEnd(all, 0)
		for end < len(all) && t.isBefore(all, end, g) {
			at, end = end, t.order.entryEnd(all, end)
		}
		at = elementEnd(all, at+keyBytes)
		return s.spliceLeaf(r, at, end-at, value)
	}
	x := s.view(r)
	i := t.child(x, level, g)
	b := branchAt(x, i)
	if below := t.setBelow(b.blob, level-1, g, value); below != b.blob {
		b.blob = below
		setBranch(s.edit(r), i, b)
	}
	return r
}

// releaseLeaf frees a leaf and its elements. The elements of a sorted set belong to its
// index.
func (t *tree) releaseLeaf(r blobRef) {
	b := t.entries(r)
	for at := 0; at < len(b) && t.order != scoreOrder; at = t.order.entryEnd(b, at) {
		member := at + keyBytes
		t.store.releaseElement(t.store.element(b[member:]))
		if t.order == fieldOrder {
			t.store.releaseElement(t.store.element(b[elementEnd(b, member):]))
		}
	}
	t.store.release(r)
}

// newLeaf returns a leaf with a copy of entries.
func (s *Store) newLeaf(entries []byte) blobRef {
	r := s.alloc(leafHead + len(entries))
	b := s.edit(r)
	binary.LittleEndian.PutUint16(b, uint16(len(entries)))
	copy(b[leafHead:], entries)
	return r
}

// spliceLeaf replaces del bytes at an offset of the entries of a leaf by ins, and returns
// its blob.
func (s *Store) spliceLeaf(r blobRef, at, del int, ins []byte) blobRef {
	n := leafHead + int(binary.LittleEndian.Uint16(s.view(r)))
	r = s.spliceBlob(r, n, leafHead+at, del, ins)
	binary.LittleEndian.PutUint16(s.edit(r), uint16(n-leafHead-del+len(ins)))
	return r
}

// newNode returns a node with a copy of branches.
func (s *Store) newNode(all []byte) blobRef {
	r := s.alloc(nodeHead + len(all))
	x := s.edit(r)
	binary.LittleEndian.PutUint16(x, uint16(len(all)/branchBytes))
	copy(x[nodeHead:], all)
	return r
}

// spliceNode replaces del branches of a node from the i-th on by ins, and returns its blob.
func (s *Store) spliceNode(r blobRef, i, del int, ins ...branch) blobRef {
	var buf [branchBytes]byte
	all := buf[:0]
	for _, b := range ins {
		all = appendBranch(all, b)
	}
	n := branches(s.view(r))
	r = s.spliceBlob(r, nodeHead+n*branchBytes, nodeHead+i*branchBytes, del*branchBytes, all)
	binary.LittleEndian.PutUint16(s.edit(r), uint16(n-del+len(ins)))
	return r
}
