package value

// Len returns a border of t: a count n with t[n] not nil and t[n+1] nil, or 0.
func (t *Table) Len() int {
	if n := len(t.array); n > 0 && t.array[n-1].ref == nil {
		low, high := 0, n
		for high-low > 1 {
			if middle := (low + high) / 2; t.array[middle-1].ref == nil {
				high = middle
			} else {
				low = middle
			}
		}
		return low
	}
	if len(t.nodes) == 0 {
		return len(t.array)
	}
	return t.searchBorder(len(t.array))
}

// countElements returns the number of elements before the first nil.
func (t *Table) countElements() int {
	for i := 1; ; i++ {
		t.prepay(1)
		if t.GetInt(i).ref == nil {
			return i - 1
		}
	}
}

// searchBorder finds a border at or above low. Requires: element low is not nil, or low is 0.
func (t *Table) searchBorder(low int) int {
	high := low + 1
	// Two steps: for this loop, and for the search below.
	for t.prepay(2); t.GetInt(high).ref != nil; t.prepay(2) {
		low = high
		high *= 2
		if high > 1<<31-1 {
			return t.countElements()
		}
	}
	for high-low > 1 {
		if middle := (low + high) / 2; t.GetInt(middle).ref == nil {
			high = middle
		} else {
			low = middle
		}
	}
	return low
}
