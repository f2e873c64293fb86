package value

// Next returns the entry after a cursor, and the cursor for the next entry. The cursor of
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

// Size returns the number of entries that t has room for.
func (t *Table) Size() int { return len(t.array) + len(t.nodes) }

// Cursor returns the cursor after a key: 0 for nil. It returns false if t never had the
// key. guess may be the cursor where the key was found before; it saves a search.
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
