package values

// A treeWalk visits the nodes of a tree in an order, or in reverse.
type treeWalk struct {
	store *Store
	root  blobRef
	last  blobRef // the node visited last
	order order
	side  uint8 // 0 ascending, 1 descending
	// path is a stack of nodes, the next one on top. If more than walkDepth are pushed, the
	// oldest are lost, and found again when the others have been visited.
	top, count uint8
	lost       bool
	path       [walkDepth]blobRef
}

const walkDepth = 32 // divides 256

func (w *treeWalk) push(r blobRef) {
	w.path[w.top%walkDepth] = r
	w.top++
	if w.count == walkDepth {
		w.lost = true
	} else {
		w.count++
	}
}

// pushEdge pushes a node and those below it on the side that is visited first.
func (w *treeWalk) pushEdge(r blobRef) {
	for r != 0 {
		w.push(r)
		r = child(w.store.view(r), w.order, int(w.side))
	}
}

// next returns the next node, or 0.
func (w *treeWalk) next() blobRef {
	if w.count == 0 {
		if !w.lost {
			return 0
		}
		w.seekAfterLast()
		if w.count == 0 {
			return 0
		}
	}
	w.top--
	w.count--
	w.last = w.path[w.top%walkDepth]
	w.pushEdge(child(w.store.view(w.last), w.order, int(1-w.side)))
	return w.last
}

// visit pushes a node if it is among those to visit, and returns the child at which the
// search for the others continues.
func (w *treeWalk) visit(r blobRef, x []byte, among bool) blobRef {
	if among {
		w.push(r)
		return child(x, w.order, int(w.side))
	}
	return child(x, w.order, int(1-w.side))
}

// seekAfterLast finds the path again.
func (w *treeWalk) seekAfterLast() {
	w.lost = false
	last := w.store.view(w.last)
	for r := w.root; r != 0; {
		x := w.store.view(r)
		after := r != w.last && w.store.before(w.order, x, last) == (w.side == 1)
		r = w.visit(r, x, after)
	}
}

// seekRank starts at the node after rank others, in ascending order.
func (w *treeWalk) seekRank(rank int) {
	for r, i := w.root, rank; r != 0; {
		x := w.store.view(r)
		n := w.store.size(child(x, w.order, 0))
		if i == n {
			w.push(r)
			return
		}
		r = w.visit(r, x, i < n == (w.side == 0))
		if i > n {
			i -= n + 1
		}
	}
}

// seekHash starts at the first node with a hash not below one. It is not for scoreOrder.
func (w *treeWalk) seekHash(hash uint64) {
	for r := w.root; r != 0; {
		x := w.store.view(r)
		r = w.visit(r, x, hashOf(x) >= hash)
	}
}

// A scan visits the nodes of a tree by hash, up to a number, and then those with the same
// hash as the last.
type scan struct {
	walk  treeWalk
	left  int
	last  uint64
	ahead blobRef // a node after the end
}

// scanFrom starts a scan of about n nodes at a cursor that is 0 or a hash.
func (s *Store) scanFrom(o order, root blobRef, cursor uint64, n int) scan {
	c := scan{walk: treeWalk{store: s, root: root, order: o}, left: max(n, 1)}
	c.walk.seekHash(cursor)
	return c
}

// next returns the next node, or 0.
func (c *scan) next() blobRef {
	r := c.walk.next()
	if r == 0 {
		return 0
	}
	hash := hashOf(c.walk.store.view(r))
	if c.left <= 0 && hash != c.last {
		c.ahead = r
		return 0
	}
	c.left--
	c.last = hash
	return r
}

// cursor returns the cursor at which the next scan starts, 0 if there is nothing left.
// Requires: next returned 0.
func (c *scan) cursor() uint64 {
	if c.ahead == 0 {
		return 0
	}
	return c.last + 1
}
