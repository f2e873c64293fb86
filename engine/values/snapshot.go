package values

import (
	"encoding/binary"
	"errors"
)

// The contents of a value in a snapshot are in one or more parts. A part is
//
//	its form, plus moreParts if it is not the last    1 byte
//	the number of its bytes or elements               4 bytes
//	the bytes of a string, or the elements
//
// An element has its stored form, as in a list, except that with tagLong the bytes follow
// their length, in 4 bytes. A field is followed by its value, a member of a sorted set
// comes after its score. The order is the order of Walk, in large sorted sets the order of
// Scan.

const (
	moreParts    = 128
	partHead     = 5
	longPartHead = 5
)

// MaxCount bounds the number of elements of a value. The owner must not exceed it.
const MaxCount = 1 << 24

// ErrDamaged is returned by Parse for bytes that Append can not have written.
var ErrDamaged = errors.New("the contents of a value are damaged")

// Append appends the part of the contents of h that starts at from, which is 0 for the
// first part. It returns the from of the next part, 0 if there is no next part. h must not
// be empty. A part has little more than size bytes, except that a packed value is a part of
// up to 32 KB, and an element beyond 1 KB is in a part.
func (s *Store) Append(dst []byte, h Head, from uint64, size int) (out []byte, next uint64) {
	var (
		f     = h.Ref.form()
		start = len(dst)
		count int
	)
	dst = append(dst, byte(f), 0, 0, 0, 0)
	switch f {
	case stringWhole, stringChanged:
		t := s.String(h)
		to := min(t.Count, int(from)+size)
		dst, count = t.Append(dst, int(from), to), to-int(from)
		if to < t.Count {
			next = uint64(to)
		}
	case listChunks:
		dst, count, next = s.appendChunks(dst, h, from, start+size)
	case hashTree, setTree, sortedTree:
		dst, count, next = s.appendTree(dst, h, from, start+size)
	default:
		dst, count = s.appendPacked(dst, h), h.Count
	}
	if next != 0 {
		dst[start] |= moreParts
	}
	binary.LittleEndian.PutUint32(dst[start+1:], uint32(count))
	return dst, next
}

// appendStored appends the stored element at the start of b.
func (s *Store) appendStored(dst, b []byte) []byte {
	if b[0] != tagLong {
		return append(dst, b[:elementEnd(b, 0)]...)
	}
	e := s.element(b)
	if e.n <= maxInline { // from a leaf
		var buf [maxInline]byte
		return appendText(dst, e.Append(buf[:0]))
	}
	dst = binary.LittleEndian.AppendUint32(append(dst, tagLong), uint32(e.n))
	return e.Append(dst)
}

// appendPacked appends the elements of a packed value.
func (s *Store) appendPacked(dst []byte, h Head) []byte {
	b := s.packed(h.Ref)
	switch h.Ref.form() {
	case setInts:
		for i := range h.Count {
			dst = appendIntElement(dst, intAt(b, i))
		}
		return dst
	case listPacked:
		for at := listHead; at < len(b); at = entryEnd(b, at) {
			dst = s.appendStored(dst, b[at:])
		}
		return dst
	}
	return append(dst, b...)
}

// appendChunks appends the entries of chunks up to a length of dst, starting with a chunk,
// or with the first chunk.
func (s *Store) appendChunks(dst []byte, h Head, from uint64, end int) (out []byte, count int, next uint64) {
	first := h.Ref.blob()
	r := first
	if from != 0 {
		r = blobRef(from)
	}
	for {
		b := s.view(r)
		at, last, n := chunkSpan(b)
		for ; at < last; at = entryEnd(b, at) {
			dst = s.appendStored(dst, b[at:])
		}
		count += n
		if r = chunkNext(b); r == first {
			return dst, count, 0
		}
		if len(dst) >= end {
			return dst, count, uint64(r)
		}
	}
}

// appendTree appends the elements of a tree up to a length of dst, from a hash on.
func (s *Store) appendTree(dst []byte, h Head, from uint64, end int) (out []byte, count int, next uint64) {
	f := h.Ref.form()
	var t tree
	switch f {
	case hashTree:
		t = s.treeOf(h.Ref, fieldOrder)
	case setTree:
		t = s.treeOf(h.Ref, setOrder)
	default:
		t, _ = s.sortedTrees(h.Ref)
	}
	scan := t.scanFrom(from, h.Count)
	for b := scan.entry(); b != nil; b = scan.entry() {
		b = b[keyBytes:]
		second := elementEnd(b, 0)
		if f == sortedTree {
			dst = append(dst, b[second:second+1+int(b[second])]...)
		}
		dst = s.appendStored(dst, b)
		if f == hashTree {
			dst = s.appendStored(dst, b[second:])
		}
		if count++; len(dst) >= end {
			scan.left = 0
		}
	}
	return dst, count, scan.cursor()
}
