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

// sizePerStep is the number of places of a table that are counted in a step, to choose its new
// size.
const sizePerStep = 8

// rehash chooses new sizes so that there is room for another key: the array part is the
// largest power of two with more than half in use.
func (t *Table) rehash(h *Heap, extra Value) {
	t.prepay(t.Size() / sizePerStep)
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
