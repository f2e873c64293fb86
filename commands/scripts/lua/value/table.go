package value

import "math/bits"

// maxArray bounds the length of the array part, and maxBits is its logarithm.
const (
	maxBits  = 26
	maxArray = 1 << maxBits
)

// A node is an entry of the node part. A removed entry keeps its key and has the value nil.
// next is the distance to the next node with the same main position, 0 for no next node.
type node struct {
	key, value Value
	next       int32
}

// A Table is a table of Lua. It has an array part for the keys from 1, and a node part, a
// hash table of chained scatter with Brent's variation: a node that is not in its main
// position (the position that its hash names) gives way to a node that would be.
//
// Source: the sizes, positions and moments of rehashing are those of Lua 5.1, because
// the order of next and the length of a table with holes depend on them.
type Table struct {
	array  []Value
	nodes  []node // a power of two, or empty
	free   int    // nodes from here on are in use
	meta   *Table
	heap   *Heap // or nil
	serial uint32
	absent uint32 // by bit: events known to have no metamethod in this metatable
	frozen bool
}

// Serial returns the number that replaces the address of t.
func (t *Table) Serial() uint32 { return t.serial }

// Meta returns the metatable, or nil.
func (t *Table) Meta() *Table { return t.meta }

// SetMeta sets the metatable; nil removes it. Requires: t is not frozen.
func (t *Table) SetMeta(meta *Table) { t.meta = meta }

// Freeze forbids changes by Lua. Set does not check it: its caller must.
func (t *Table) Freeze() { t.frozen = true }

// Frozen reports whether Lua may not change t.
func (t *Table) Frozen() bool { return t.frozen }

// Absent reports whether a bit was set by SetAbsent since the last change of t.
func (t *Table) Absent(bit uint32) bool { return t.absent&bit != 0 }

// SetAbsent remembers a bit until the next change of t. Frozen tables ignore it.
func (t *Table) SetAbsent(bit uint32) {
	if !t.frozen {
		t.absent |= bit
	}
}

// IsList reports whether t has no keys besides the keys of its array part.
func (t *Table) IsList() bool { return len(t.nodes) == 0 }

// Elements returns the elements of a list up to the first nil, valid until t changes.
// Requires: IsList.
func (t *Table) Elements() []Value {
	for i := range t.array {
		if t.array[i].ref == nil {
			return t.array[:i]
		}
	}
	return t.array
}

// position returns the index of the main position of a key. Requires: nodes.
func (t *Table) position(key Value) int {
	mask := len(t.nodes) - 1
	switch ref := key.ref.(type) {
	case *String:
		return int(ref.Hash()) & mask
	case numberTag:
		return t.positionOfNumber(key.n)
	case booleanTag:
		return int(key.n) & mask
	case *Table:
		return t.modulo(ref.serial)
	case Func:
		return t.modulo(ref.Serial())
	}
	return 0
}

func (t *Table) modulo(hash uint32) int { return int(hash % uint32((len(t.nodes)-1)|1)) }

// Get returns the value of a key, or nil.
func (t *Table) Get(key Value) Value {
	switch ref := key.ref.(type) {
	case *String:
		return t.GetString(ref)
	case numberTag:
		if i, ok := key.index(); ok {
			return t.GetInt(i)
		}
	}
	if n := t.find(key); n != nil {
		return n.value
	}
	return Nil
}

// GetInt returns the value of an integer key, or nil.
func (t *Table) GetInt(i int) Value {
	if uint(i-1) < uint(len(t.array)) {
		return t.array[i-1]
	}
	if len(t.nodes) == 0 {
		return Nil
	}
	if n := t.find(Number(float64(i))); n != nil {
		return n.value
	}
	return Nil
}

// GetString returns the value of a string key, or nil.
func (t *Table) GetString(key *String) Value {
	if len(t.nodes) == 0 {
		return Nil
	}
	at := int(key.Hash()) & (len(t.nodes) - 1)
	for hops := 0; ; hops++ {
		n := &t.nodes[at]
		if s, ok := n.key.ref.(*String); ok && (s == key || s.hash == key.hash && s.Equal(key)) {
			t.charge(hops)
			return n.value
		}
		if n.next == 0 {
			t.charge(hops)
			return Nil
		}
		at += int(n.next)
	}
}

// charge counts the work of a long search.
func (t *Table) charge(hops int) {
	if hops > maxHops && t.heap != nil {
		t.heap.chargeHops(hops)
	}
}

// prepay charges n steps in a Prepaid run.
func (t *Table) prepay(n int) {
	if t.heap != nil && t.heap.Prepaid {
		t.heap.chargeSteps(n)
	}
}

// find returns the node of a key, or nil.
func (t *Table) find(key Value) *node {
	if len(t.nodes) == 0 {
		return nil
	}
	at := t.position(key)
	for hops := 0; ; hops++ {
		n := &t.nodes[at]
		if Equal(n.key, key) {
			t.charge(hops)
			return n
		}
		if n.next == 0 {
			t.charge(hops)
			return nil
		}
		at += int(n.next)
	}
}

// Set sets the value of a key. Requires: key is neither nil nor NaN, and t is not frozen
// unless the caller may change it. Room for new keys is taken of h; without h, of Go.
func (t *Table) Set(h *Heap, key, value Value) {
	t.absent = 0
	*t.slot(h, key) = value
}

// SetInt sets the value of an integer key. Requires: as Set.
func (t *Table) SetInt(h *Heap, i int, value Value) {
	if uint(i-1) < uint(len(t.array)) {
		t.array[i-1] = value
		return
	}
	t.Set(h, Number(float64(i)), value)
}

// slot returns the place of a key's value, and adds the key if it is missing.
func (t *Table) slot(h *Heap, key Value) *Value {
	if i, ok := key.index(); ok && uint(i-1) < uint(len(t.array)) {
		return &t.array[i-1]
	}
	if n := t.find(key); n != nil {
		return &n.value
	}
	return t.insert(h, key)
}

// insert adds a key that t does not have.
func (t *Table) insert(h *Heap, key Value) *Value {
	if len(t.nodes) == 0 {
		t.rehash(h, key)
		return t.slot(h, key)
	}
	at := t.position(key)
	if t.nodes[at].value.ref != nil {
		free := t.takeFree()
		if free < 0 {
			t.rehash(h, key)
			return t.slot(h, key)
		}
		if other := t.position(t.nodes[at].key); other != at {
			t.move(other, at, free)
		} else {
			if next := t.nodes[at].next; next != 0 {
				t.nodes[free].next = int32(at) + next - int32(free)
			}
			t.nodes[at].next = int32(free - at)
			at = free
		}
	}
	n := &t.nodes[at]
	n.key = key
	return &n.value
}

// move moves the node at a place, in the chain that starts at main, to a free place.
func (t *Table) move(main, at, free int) {
	before, hops := main, 0
	for ; before+int(t.nodes[before].next) != at; hops++ {
		before += int(t.nodes[before].next)
	}
	t.charge(hops)
	t.nodes[before].next = int32(free - before)
	t.nodes[free] = t.nodes[at]
	if next := t.nodes[at].next; next != 0 {
		t.nodes[free].next = int32(at) + next - int32(free)
	}
	t.nodes[at].next = 0
	t.nodes[at].value = Nil
}

// takeFree returns the index of a node without a key, or -1.
func (t *Table) takeFree() int {
	for t.free > 0 {
		t.free--
		if t.nodes[t.free].key.ref == nil {
			return t.free
		}
	}
	t.free = -1
	return -1
}

// logarithm returns the least n with 2^n >= x. Requires: x >= 1.
func logarithm(x int) int { return bits.Len(uint(x - 1)) }
