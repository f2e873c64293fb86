package engine

import (
	"encoding/binary"

	"limitsrv/engine/siphash"
)

// leases is the memory of the holders of a shard. It consists of nodes; each node is in two treaps
// of its key, the first ordered by id and the second by end. The random priority is a keyed hash
// of the id. So the shape of a treap depends only on its nodes, and nobody can make it deep
// without the seed.
//
// Source: R. Seidel and C. Aragon, "Randomized search trees", 1996.
type leases struct {
	pages [][]leaseNode
	free  nodeRef // the byEnd children of a free node are free too
	fresh int     // nodes of the last page that were never used
	used  int
	bytes int64

	priorities siphash.Key
	changes    uint64 // number of changes so far
}

// nextChange returns the number of a new change, so that no two states of a key are
// equal.
func (m *leases) nextChange() uint64 {
	m.changes++
	return m.changes
}

// A nodeRef is the number of a node from 1 on; 0 is no node.
type nodeRef uint32

type leaseNode struct {
	id    holderID
	end   Instant
	byID  [2]nodeRef // children: less, greater
	byEnd [2]nodeRef
	size  int32 // of the subtree by end
	// priority orders both treaps. In a free node it is the number of the next free node.
	priority uint32
}

const (
	leaseNodeBytes = 48
	leasePageNodes = 512
	leasePageBytes = leasePageNodes * leaseNodeBytes
)

func (m *leases) node(r nodeRef) *leaseNode {
	n := int(r) - 1
	return &m.pages[n/leasePageNodes][n%leasePageNodes]
}

// growth returns the bytes that another holder adds.
func (m *leases) growth() int {
	if m.free == 0 && m.fresh == 0 {
		return leasePageBytes
	}
	return 0
}

func (m *leases) alloc() nodeRef {
	m.used++
	if r := m.free; r != 0 {
		n := m.node(r)
		m.free = nodeRef(n.priority)
		for _, child := range n.byEnd {
			m.pushFree(child)
		}
		return r
	}
	if m.fresh == 0 {
		m.pages = append(m.pages, make([]leaseNode, leasePageNodes))
		m.fresh = leasePageNodes
		m.bytes += leasePageBytes
	}
	m.fresh--
	return nodeRef(len(m.pages)*leasePageNodes - m.fresh)
}

func (m *leases) pushFree(r nodeRef) {
	if r != 0 {
		m.node(r).priority = uint32(m.free)
		m.free = r
	}
}

// releaseAll frees a whole treap in O(1): the nodes below its root are freed one by one
// when nodes are allocated.
func (m *leases) releaseAll(root nodeRef) {
	if root == 0 {
		return
	}
	m.used -= int(m.size(root))
	m.pushFree(root)
}

// trim releases all pages if no node is in use.
func (m *leases) trim() {
	if m.used == 0 && len(m.pages) > 0 {
		*m = leases{priorities: m.priorities, changes: m.changes}
	}
}

func (m *leases) size(r nodeRef) int64 {
	if r == 0 {
		return 0
	}
	return int64(m.node(r).size)
}

// find returns the node of an id, or 0.
func (m *leases) find(root nodeRef, id holderID) nodeRef {
	for r := root; r != 0; {
		n := m.node(r)
		switch {
		case id == n.id:
			return r
		case id.less(n.id):
			r = n.byID[0]
		default:
			r = n.byID[1]
		}
	}
	return 0
}

// first returns the node that ends first, or 0.
func (m *leases) first(root nodeRef) nodeRef {
	for r := root; r != 0; r = m.node(r).byEnd[0] {
		root = r
	}
	return root
}

// endedBy returns the number of nodes with an end not after now.
func (m *leases) endedBy(root nodeRef, now Instant) (count int64) {
	for r := root; r != 0; {
		n := m.node(r)
		if n.end > now {
			r = n.byEnd[0]
			continue
		}
		count += m.size(n.byEnd[0]) + 1
		r = n.byEnd[1]
	}
	return count
}

// end returns the end of the node that ends after i other nodes.
func (m *leases) end(root nodeRef, i int64) Instant {
	for r := root; ; {
		n := m.node(r)
		left := m.size(n.byEnd[0])
		switch {
		case i < left:
			r = n.byEnd[0]
		case i == left:
			return n.end
		default:
			i -= left + 1
			r = n.byEnd[1]
		}
	}
}

// insert adds a holder, which must be missing, and returns the new roots.
func (m *leases) insert(byID, byEnd nodeRef, id holderID, end Instant) (nodeRef, nodeRef) {
	r := m.alloc()
	*m.node(r) = leaseNode{id: id, end: end, size: 1, priority: m.priority(id)}
	return m.add(idOrder, byID, r), m.add(endOrder, byEnd, r)
}

// remove removes and frees a node, and returns the new roots.
func (m *leases) remove(byID, byEnd, r nodeRef) (nodeRef, nodeRef) {
	byID, byEnd = m.cut(idOrder, byID, r), m.cut(endOrder, byEnd, r)
	m.used--
	m.node(r).byEnd = [2]nodeRef{}
	m.pushFree(r)
	return byID, byEnd
}

// An order selects one of the two treaps.
type order int

const (
	idOrder order = iota
	endOrder
)

func (n *leaseNode) children(o order) *[2]nodeRef {
	if o == idOrder {
		return &n.byID
	}
	return &n.byEnd
}

// priority returns the priority of the node of an id. Its hash key has no other use: the keys of
// the ids, which are in snapshots, must not suffice to choose ids that make a treap deep.
func (m *leases) priority(id holderID) uint32 {
	var b [holderIDBytes]byte
	binary.LittleEndian.PutUint64(b[:], id.a)
	binary.LittleEndian.PutUint64(b[8:], id.b)
	return uint32(m.priorities.Sum(b[:]))
}

func (n *leaseNode) before(o order, x *leaseNode) bool {
	if o == endOrder && n.end != x.end {
		return n.end < x.end
	}
	return n.id.less(x.id)
}

// add inserts node r into the treap at root and returns its root.
func (m *leases) add(o order, root, r nodeRef) nodeRef {
	if root == 0 {
		return r
	}
	x, n := m.node(root), m.node(r)
	if n.priority > x.priority {
		n.children(o)[0], n.children(o)[1] = m.split(o, root, n)
		m.count(o, n)
		return r
	}
	side := 0
	if x.before(o, n) {
		side = 1
	}
	x.children(o)[side] = m.add(o, x.children(o)[side], r)
	m.count(o, x)
	return root
}

// split divides a treap into the nodes before n and those after.
func (m *leases) split(o order, root nodeRef, n *leaseNode) (less, greater nodeRef) {
	if root == 0 {
		return 0, 0
	}
	x := m.node(root)
	if x.before(o, n) {
		x.children(o)[1], greater = m.split(o, x.children(o)[1], n)
		less = root
	} else {
		less, x.children(o)[0] = m.split(o, x.children(o)[0], n)
		greater = root
	}
	m.count(o, x)
	return less, greater
}

// cut removes node r, which must be there, from the treap at root and returns its root.
func (m *leases) cut(o order, root, r nodeRef) nodeRef {
	x := m.node(root)
	if root == r {
		return m.join(o, x.children(o)[0], x.children(o)[1])
	}
	side := 0
	if x.before(o, m.node(r)) {
		side = 1
	}
	x.children(o)[side] = m.cut(o, x.children(o)[side], r)
	m.count(o, x)
	return root
}

// join returns a treap of two treaps. All of a is before b.
func (m *leases) join(o order, a, b nodeRef) nodeRef {
	if a == 0 || b == 0 {
		return a | b
	}
	x, y := m.node(a), m.node(b)
	if x.priority > y.priority {
		x.children(o)[1] = m.join(o, x.children(o)[1], b)
		m.count(o, x)
		return a
	}
	y.children(o)[0] = m.join(o, a, y.children(o)[0])
	m.count(o, y)
	return b
}

func (m *leases) count(o order, n *leaseNode) {
	if o == endOrder {
		n.size = int32(m.size(n.byEnd[0]) + m.size(n.byEnd[1]) + 1)
	}
}
