package value

import "math"

// positionOfNumber returns the main position of a number: by the sum of its halves.
func (t *Table) positionOfNumber(x float64) int {
	if x == 0 {
		return 0
	}
	b := math.Float64bits(x)
	return t.modulo(uint32(b) + uint32(b>>32))
}

// Grow makes room in the array part for n elements.
func (t *Table) Grow(h *Heap, n int) {
	if n > len(t.array) {
		t.resize(h, n, len(t.nodes))
	}
}

// Fill sets the first elements. Requires: there is room for them, as Grow makes it.
func (t *Table) Fill(values []Value) { copy(t.array, values) }

func (t *Table) setNodes(h *Heap, n int) {
	if n == 0 {
		t.nodes, t.free = nil, 0
		return
	}
	size := 1 << logarithm(n)
	if h == nil {
		t.nodes = make([]node, size)
	} else {
		t.nodes = h.takeNodes(size)
	}
	t.free = size
}

// rehash chooses new sizes so that there is room for one more key: the array part is the
// largest power of two of which more than half is in use.
func (t *Table) rehash(h *Heap, extra Value) {
	var counts [maxBits + 1]int // keys from 2^(i-1)+1 to 2^i
	integers := t.countArray(&counts)
	total := integers
	count := func(key Value) {
		if i, ok := key.index(); ok && i > 0 && i <= maxArray {
			counts[logarithm(i)]++
			integers++
		}
		total++
	}
	for i := range t.nodes {
		if n := &t.nodes[i]; n.value.ref != nil {
			count(n.key)
		}
	}
	count(extra)
	size, inArray := arraySize(&counts, integers)
	t.resize(h, size, total-inArray)
}

// countArray counts the elements of the array part.
func (t *Table) countArray(counts *[maxBits + 1]int) int {
	total := 0
	for i := range t.array {
		if t.array[i].ref != nil {
			counts[logarithm(i+1)]++
			total++
		}
	}
	return total
}

// arraySize returns the best size of the array part, and how many keys go there.
func arraySize(counts *[maxBits + 1]int, integers int) (size, inArray int) {
	sum := 0
	for i, power := 0, 1; power/2 < integers; i, power = i+1, power*2 {
		if counts[i] > 0 {
			if sum += counts[i]; sum > power/2 {
				size, inArray = power, sum
			}
		}
		if sum == integers {
			break
		}
	}
	return size, inArray
}

// resize changes the sizes of both parts and inserts all entries again.
func (t *Table) resize(h *Heap, array, nodes int) {
	oldArray, oldNodes := t.array, t.nodes
	if array > len(oldArray) {
		if h == nil {
			t.array = make([]Value, array)
		} else {
			t.array = h.takeSlots(array)
		}
		copy(t.array, oldArray)
	}
	t.setNodes(h, nodes)
	if array < len(oldArray) {
		t.array = oldArray[:array:array]
		for i := array; i < len(oldArray); i++ {
			if v := oldArray[i]; v.ref != nil {
				*t.slot(h, Number(float64(i+1))) = v
			}
		}
	}
	for i := len(oldNodes) - 1; i >= 0; i-- {
		if n := &oldNodes[i]; n.value.ref != nil {
			*t.slot(h, n.key) = n.value
		}
	}
}

// Next returns the entry behind a cursor, and the cursor for the next one. The cursor of
// the first entry is 0. At the end the key is nil. Cost: linear in the distance of the
// cursors.
func (t *Table) Next(cursor int) (key, value Value, next int) {
	for ; cursor < len(t.array); cursor++ {
		if v := t.array[cursor]; v.ref != nil {
			return Number(float64(cursor + 1)), v, cursor + 1
		}
	}
	for i := cursor - len(t.array); i < len(t.nodes); i++ {
		if n := &t.nodes[i]; n.value.ref != nil {
			return n.key, n.value, len(t.array) + i + 1
		}
	}
	return Nil, Nil, t.Size()
}

// Size returns the number of entries for which t has room.
func (t *Table) Size() int { return len(t.array) + len(t.nodes) }

// Cursor returns the cursor behind a key: 0 for nil. It returns false if t never had the
// key. guess may be the cursor at which the key was found before; it saves a search.
func (t *Table) Cursor(key Value, guess int) (int, bool) {
	if key.ref == nil {
		return 0, true
	}
	if i, ok := key.index(); ok && uint(i-1) < uint(len(t.array)) {
		return i, true
	}
	if i := guess - len(t.array) - 1; i >= 0 && i < len(t.nodes) && Equal(t.nodes[i].key, key) {
		return guess, true
	}
	if len(t.nodes) == 0 {
		return 0, false
	}
	for at, hops := t.position(key), 0; ; hops++ {
		n := &t.nodes[at]
		if Equal(n.key, key) {
			t.charge(hops)
			return len(t.array) + at + 1, true
		}
		if n.next == 0 {
			return 0, false
		}
		at += int(n.next)
	}
}
