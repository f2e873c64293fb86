package values

import "math"

// A small set of integers is packed as the number of bytes of each, 2, 4 or 8, and the
// integers in ascending order, low byte first.

const intsHead = 1

// intWidth returns the number of bytes that a set stores n in.
func intWidth(n int64) int {
	switch {
	case n >= math.MinInt16 && n <= math.MaxInt16:
		return 2
	case n >= math.MinInt32 && n <= math.MaxInt32:
		return 4
	}
	return 8
}

// intAt returns integer i.
func intAt(b []byte, i int) int64 {
	width := int(b[0])
	return readInt(b, intsHead+i*width, width)
}

// findInt returns the number of integers less than n, and whether n is there.
func findInt(b []byte, n int64) (i int, found bool) {
	lo, hi := 0, (len(b)-intsHead)/int(b[0])
	for lo < hi {
		middle := (lo + hi) / 2
		switch v := intAt(b, middle); {
		case v == n:
			return middle, true
		case v < n:
			lo = middle + 1
		default:
			hi = middle
		}
	}
	return lo, false
}

// appendWidth appends n in so many bytes.
func appendWidth(dst []byte, n int64, width int) []byte {
	for range width {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}

// addInt adds an integer and reports whether it is new.
func (t *Set) addInt(n int64) bool {
	s := t.store
	if t.Ref == 0 {
		width := intWidth(n)
		s.scratch = appendWidth(append(s.scratch[:0], byte(width)), n, width)
		t.Ref = s.splice(makeRef(setInts, 0, 0), 0, 0, s.scratch)
		t.Count = 1
		return true
	}
	b := s.packed(t.Ref)
	i, found := findInt(b, n)
	if found {
		return false
	}
	if width := intWidth(n); width > int(b[0]) {
		t.widen(width)
	}
	width := int(s.packed(t.Ref)[0])
	s.scratch = appendWidth(s.scratch[:0], n, width)
	t.Ref = s.splice(t.Ref, intsHead+i*width, 0, s.scratch)
	t.Count++
	return true
}

// widen stores each integer in more bytes.
func (t *Set) widen(width int) {
	s := t.store
	b := s.packed(t.Ref)
	s.scratch = append(s.scratch[:0], byte(width))
	for i := range t.Count {
		s.scratch = appendWidth(s.scratch, intAt(b, i), width)
	}
	t.Ref = s.splice(t.Ref, 0, len(b), s.scratch)
}

// packInts stores the set of integers as a packed sequence of elements.
func (t *Set) packInts() {
	s := t.store
	b, n := s.packed(t.Ref), t.Ref.length()
	s.scratch = s.scratch[:0]
	for i := range t.Count {
		s.scratch = appendIntElement(s.scratch, intAt(b, i))
	}
	t.Ref = s.splice(makeRef(setPacked, n, t.Ref.blob()), 0, n, s.scratch)
}
