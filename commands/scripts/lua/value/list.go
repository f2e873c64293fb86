package value

// A List is a table of strings that is not made yet. It counts against the limits as the
// table does, and has its number.
type List struct {
	strings []String
	serial  uint32
}

// NewLists makes lists of the first n texts, and of the remaining texts. The texts must not
// change until the end of the run. ok is false beyond a limit: then Left is negative if the
// limit is the limit of memory.
func (h *Heap) NewLists(texts [][]byte, n int) (first, others List, ok bool) {
	if !h.charge(listSize(n)) || !h.charge(listSize(len(texts)-n)) {
		return first, others, false
	}
	all := h.strings.Raw(len(texts))
	for i, text := range texts {
		s := &all[i]
		s.bytes, s.hashed = text, false
	}
	return List{all[:n], h.NextSerial()}, List{all[n:], h.NextSerial()}, true
}

// listSize is the size that is counted for a list of n strings.
func listSize(n int) int { return tableSize + n*(slotSize+stringSize) }

// Len returns the number of strings.
func (l *List) Len() int { return len(l.strings) }

// Element returns the string with a key, from 1, or nil.
func (l *List) Element(i int) *String {
	if uint(i-1) < uint(len(l.strings)) {
		return &l.strings[i-1]
	}
	return nil
}

// TableOf makes the table of a list, which must be made at most once.
func (h *Heap) TableOf(l *List) *Table {
	t := h.tables.One()
	t.heap, t.serial = h, l.serial
	t.array = h.slots.Raw(len(l.strings))
	for i := range l.strings {
		t.array[i] = OfString(&l.strings[i])
	}
	return t
}
