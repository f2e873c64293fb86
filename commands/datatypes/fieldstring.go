package datatypes

import "limitsrv/engine"

// A fieldString is the string of a BITFIELD, for reading or, after open, for writing. A
// string in a record is changed in memory of the call and stored as a whole by close: then
// all of it fits into full memory or nothing is changed. A longer string is changed in
// place, where nothing can fail once it has its length.
type fieldString struct {
	tx      *engine.Tx
	e       engine.Entry
	has     found
	inPlace bool
	changed []byte // the string if it is to be stored by close
}

// open makes the string at least so long, with zeros. ok is false if memory is full.
func (s *fieldString) open(length int) (ok bool) {
	tx := s.tx
	if s.has == aString && s.e.Alg() == engine.Blob {
		s.inPlace, ok = true, true
		if length > tx.Len(s.e) {
			s.e, ok = tx.Write(s.e, length-1, []byte{0})
		}
		return ok
	}
	tx.Scratch = tx.Scratch[:0]
	if s.has == aString {
		tx.Scratch = tx.Bytes(s.e, tx.Scratch)
	}
	grown := max(0, length-len(tx.Scratch))
	charge(tx, grown/copiedPerElement)
	tx.Scratch = append(tx.Scratch, make([]byte, grown)...)
	s.changed = tx.Scratch
	return true
}

// close stores the changes. ok is false if memory is full.
func (s *fieldString) close() (ok bool) {
	if s.changed == nil {
		return true
	}
	at := int64(0)
	if s.has == aString {
		at = s.tx.Expiry(s.e)
	}
	_, ok = s.tx.Put(s.e, s.changed, at)
	return ok
}

// fieldBytes is the number of bytes that a field may touch.
const fieldBytes = 9

// bytes copies the bytes of a field, zeros beyond the end of the string, and returns their
// number.
func (s *fieldString) bytes(at int64, width int, to *[fieldBytes]byte) int {
	first := at / 8
	n := (at+int64(width)-1)/8 + 1 - first
	switch {
	case s.changed != nil:
		if first < int64(len(s.changed)) {
			copy(to[:n], s.changed[first:])
		}
	case s.has == aString:
		if length := int64(s.tx.Len(s.e)); first < length {
			s.tx.Range(s.e, int(first), int(min(first+n, length)), to[:0])
		}
	}
	return int(n)
}

// read returns the bits of a field.
func (s *fieldString) read(at int64, width int) (field uint64) {
	var b [fieldBytes]byte
	s.bytes(at, width, &b)
	for i := range int64(width) {
		bit := at&7 + i
		field = field<<1 | uint64(b[bit/8]>>(7-bit&7)&1)
	}
	return field
}

// write overwrites the bits of a field. Requires: the string was opened with its length.
func (s *fieldString) write(at int64, width int, field uint64) {
	var b [fieldBytes]byte
	n := s.bytes(at, width, &b)
	for i := range int64(width) {
		bit := at&7 + i
		mask := byte(1) << (7 - bit&7)
		b[bit/8] &^= mask
		if field>>(int64(width)-1-i)&1 != 0 {
			b[bit/8] |= mask
		}
	}
	if s.inPlace {
		s.tx.Write(s.e, int(at/8), b[:n])
		return
	}
	copy(s.changed[at/8:], b[:n])
}
