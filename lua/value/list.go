package value

// A List is a table of strings that is not made yet. It counts against the limits as the
// table does, and has its number.
type List struct {
	strings []String
	serial  uint32
}

// NewList makes a list of texts, which must not change until the end of the run. ok is false
// beyond a limit: then Left is negative if it is that of memory.
func (h *Heap) NewList(texts [][]byte) (l List, ok bool) {
	if !h.charge(tableSize + len(texts)*(slotSize+stringSize)) {
		return l, false
	}
	l = List{h.strings.Raw(len(texts)), h.NextSerial()}
	for i := range l.strings {
		s := &l.strings[i]
		s.bytes, s.hashed = texts[i], false
	}
	return l, true
}

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
