package values

import "encoding/binary"

// A treeWalk visits the entries of a tree, in order or in reverse.
type treeWalk struct {
	tree    tree
	reverse bool
	path    [maxHeight]step    // by level, from the nodes above the leaves on
	leaf    []byte             // entries of the leaf
	next    int                // offset of the next entry, or if reverse 1 + its index in starts
	starts  [maxEntries]uint16 // offsets of the entries, if reverse
}

// A step is a node, and the number of the branch that is visited.
type step struct {
	node   blobRef
	branch int
}

// walk returns a walk from entry i on. Requires: it exists.
func (t *tree) walk(i int, reverse bool) treeWalk {
	w := treeWalk{tree: *t, reverse: reverse}
	r := t.root
	for level := t.height; level > 0; level-- {
		x := t.store.view(r)
		j := 0
		for ; i >= branchAt(x, j).count; j++ {
			i -= branchAt(x, j).count
		}
		w.path[level-1] = step{r, j}
		r = branchAt(x, j).blob
	}
	w.enter(r)
	if reverse {
		w.next = i + 1
		return w
	}
	for range i {
		w.next = t.order.entryEnd(w.leaf, w.next)
	}
	return w
}

// walkFrom returns a walk from the first entry that is not before a target on.
func (t *tree) walkFrom(g *target) treeWalk {
	w := treeWalk{tree: *t}
	if t.root == 0 {
		return w
	}
	r := t.root
	for level := t.height; level > 0; level-- {
		x := t.store.view(r)
		i := t.child(x, level, g)
		w.path[level-1] = step{r, i}
		r = branchAt(x, i).blob
	}
	w.enter(r)
	w.next, _ = t.seekIn(w.leaf, g)
	return w
}

// enter begins with the entries of a leaf.
func (w *treeWalk) enter(r blobRef) {
	w.leaf, w.next = w.tree.entries(r), 0
	if w.reverse {
		for at := 0; at < len(w.leaf); at = w.tree.order.entryEnd(w.leaf, at) {
			w.starts[w.next] = uint16(at)
			w.next++
		}
	}
}

// entry returns the bytes from the next entry on, or nil at the end.
func (w *treeWalk) entry() []byte {
	if w.reverse {
		if w.next == 0 && !w.turn(-1) {
			return nil
		}
		w.next--
		return w.leaf[w.starts[w.next]:]
	}
	if w.next == len(w.leaf) && !w.turn(1) {
		return nil
	}
	at := w.next
	w.next = w.tree.order.entryEnd(w.leaf, at)
	return w.leaf[at:]
}

// turn enters the next leaf, or with -1 the previous leaf, if there is a leaf.
func (w *treeWalk) turn(by int) bool {
	s := w.tree.store
	level := 0
	for ; level < w.tree.height; level++ {
		p := &w.path[level]
		if p.branch += by; p.branch >= 0 && p.branch < branches(s.view(p.node)) {
			break
		}
	}
	if level >= w.tree.height {
		return false
	}
	for ; level > 0; level-- {
		below := step{node: branchAt(s.view(w.path[level].node), w.path[level].branch).blob}
		if w.reverse {
			below.branch = branches(s.view(below.node)) - 1
		}
		w.path[level-1] = below
	}
	w.enter(branchAt(s.view(w.path[0].node), w.path[0].branch).blob)
	return true
}

// A scan visits the entries of a tree by hash, up to a number, and then those with the
// same hash as the last.
type scan struct {
	walk  treeWalk
	left  int
	last  uint64
	ahead bool // there are entries after the end
}

// scanFrom starts a scan of about n entries at a cursor that is 0 or a hash.
func (t *tree) scanFrom(cursor uint64, n int) scan {
	return scan{walk: t.walkFrom(&target{key: cursor}), left: max(n, 1)}
}

// entry returns the bytes from the next entry on, or nil at the end.
func (c *scan) entry() []byte {
	b := c.walk.entry()
	if b == nil {
		return nil
	}
	hash := binary.LittleEndian.Uint64(b)
	if c.left <= 0 && hash != c.last {
		c.ahead = true
		return nil
	}
	c.left--
	c.last = hash
	return b
}

// cursor returns the cursor for the next scan, 0 if there is nothing left. Requires: entry
// returned nil.
func (c *scan) cursor() uint64 {
	if !c.ahead {
		return 0
	}
	return c.last + 1
}
