package values

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"limitsrv/engine/values/numbers"
)

// An element of a collection is stored, and is in snapshots, as a tag and its bytes:
//
//	0 to 127      a text of so many bytes
//	128 to 191    a text of (tag-128)<<8 + the next byte
//	193 to 200    an integer in tag-192 bytes, low byte first
//	208           a longer text, or a text beyond maxLeafText in a tree: its blob and
//	              length, 4 bytes each
//
// A text that is an integer is stored as an integer if that is shorter, so that equal
// elements have equal bytes, except elements of tag 208.
const (
	tagText      = 128
	tagInt       = 192
	tagLong      = 208
	maxInline    = 1 << 10
	longBytes    = 9
	maxShortText = tagText - 1
)

// appendInline appends the stored form of a text. Requires: len(b) <= maxInline.
func appendInline(dst, b []byte) []byte {
	if n := len(b); n > 0 && n <= numbers.MaxIntBytes && b[n-1]-'0' <= 9 {
		if v, ok := numbers.ParseInt(b); ok && intBytes(v) < n {
			return appendInt(append(dst, byte(tagInt+intBytes(v))), v)
		}
	}
	return appendText(dst, b)
}

// appendIntElement appends the stored form of the text of n.
func appendIntElement(dst []byte, n int64) []byte {
	var buf [numbers.MaxIntBytes]byte
	return appendInline(dst, strconv.AppendInt(buf[:0], n, 10))
}

// appendText appends a text as such.
func appendText(dst, b []byte) []byte {
	if len(b) > maxShortText {
		dst = append(dst, tagText|byte(len(b)>>8))
	}
	return append(append(dst, byte(len(b))), b...)
}

// appendElement appends the stored form of a text of any length, which becomes a text of
// its own beyond a limit of at most maxInline.
func (m *memory) appendElement(dst, b []byte, limit int) []byte {
	if len(b) <= limit {
		return appendInline(dst, b)
	}
	dst = binary.LittleEndian.AppendUint32(append(dst, tagLong), uint32(m.newText(b)))
	return binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
}

// elementEnd returns the offset after the element at an offset.
func elementEnd(b []byte, at int) int {
	tag := int(b[at])
	if tag < tagText {
		return at + 1 + tag
	}
	if tag > tagInt && tag != tagLong {
		return at + 1 + tag - tagInt
	}
	return longEnd(b, at)
}

func longEnd(b []byte, at int) int {
	if b[at] == tagLong {
		return at + longBytes
	}
	return at + 2 + int(b[at]-tagText)<<8 + int(b[at+1])
}

// releaseElement frees the memory of an element besides its stored form.
func (m *memory) releaseElement(e Element) {
	if e.form == longText {
		m.releaseText(e.blob, int(e.n))
	}
}

// intBytes returns the least number of bytes, from 1 on, that hold n with its sign.
func intBytes(n int64) int { return (bits.Len64(uint64(n^n>>63)) + 8) / 8 }

func appendInt(dst []byte, n int64) []byte {
	for range intBytes(n) {
		dst = append(dst, byte(n))
		n >>= 8
	}
	return dst
}

// readInt returns the integer in n bytes, from 1 to 8, at an offset.
func readInt(b []byte, at, n int) int64 {
	var u uint64
	if at+8 <= len(b) {
		u = binary.LittleEndian.Uint64(b[at:])
	} else {
		for i, c := range b[at : at+n] {
			u |= uint64(c) << (8 * i)
		}
	}
	unused := 64 - 8*n
	return int64(u<<unused) >> unused
}

// The score of a member of a packed sorted set is stored as the number of the bytes after
// it: 1 to 7 for an integer, or 8 for a double.
const (
	scoreDouble = 8
	maxExactInt = 1 << 53
)

func appendScore(dst []byte, x float64) []byte {
	if n := int64(x); x > -maxExactInt && x < maxExactInt && math.Float64bits(float64(n)) == math.Float64bits(x) {
		return appendInt(append(dst, byte(intBytes(n))), n)
	}
	return binary.LittleEndian.AppendUint64(append(dst, scoreDouble), math.Float64bits(x))
}

// readScore returns the score at an offset, and the offset after it.
func readScore(b []byte, at int) (x float64, end int) {
	n := int(b[at])
	at++
	if n == scoreDouble {
		return math.Float64frombits(binary.LittleEndian.Uint64(b[at:])), at + 8
	}
	return float64(readInt(b, at, n)), at + n
}

// An Element is a byte string in a collection: a field, a value, a member or an entry of
// a list. It is valid until the next change to its Store. The zero Element is empty.
type Element struct {
	memory *memory
	text   []byte
	n      int64 // the integer, or the length of a long text
	blob   blobRef
	form   elementForm
}

type elementForm uint8

const (
	inlineText elementForm = iota
	integer
	longText
)

// element returns the element that is stored at the start of b.
func (m *memory) element(b []byte) Element {
	switch tag := int(b[0]); {
	case tag < tagText:
		return Element{text: b[1 : 1+tag]}
	case tag < tagInt:
		return Element{text: b[2 : 2+(tag-tagText)<<8+int(b[1])]}
	case tag == tagLong:
		blob, n := binary.LittleEndian.Uint32(b[1:]), binary.LittleEndian.Uint32(b[5:])
		return Element{memory: m, blob: blobRef(blob), n: int64(n), form: longText}
	default:
		return intElement(readInt(b, 1, tag-tagInt))
	}
}

func intElement(n int64) Element { return Element{n: n, form: integer} }

// Len returns the number of bytes.
func (e Element) Len() int {
	switch e.form {
	case integer:
		return numbers.IntBytes(e.n)
	case longText:
		return int(e.n)
	}
	return len(e.text)
}

// Int returns the integer that the element is the text of. ok is false if it is another
// text.
func (e Element) Int() (n int64, ok bool) {
	switch e.form {
	case integer:
		return e.n, true
	case longText:
		return 0, false
	}
	return numbers.ParseInt(e.text)
}

// Append appends the bytes.
func (e Element) Append(dst []byte) []byte {
	switch e.form {
	case integer:
		return strconv.AppendInt(dst, e.n, 10)
	case longText:
		dst = Grow(dst, int(e.n))
		for at := 0; at < int(e.n); {
			piece := e.memory.piece(e.blob, int(e.n), at)
			dst = append(dst, piece...)
			at += len(piece)
		}
		return dst
	}
	return append(dst, e.text...)
}

// Equal reports whether the element has the bytes of b.
func (e Element) Equal(b []byte) bool {
	switch e.form {
	case integer:
		var buf [numbers.MaxIntBytes]byte
		return string(strconv.AppendInt(buf[:0], e.n, 10)) == string(b)
	case longText:
		return int(e.n) == len(b) && e.Compare(b) == 0
	}
	return string(e.text) == string(b)
}

// Compare returns -1, 0 or 1 for bytes that are less than b, equal, or greater.
func (e Element) Compare(b []byte) int { return e.compare(Element{text: b}) }

func (e Element) compare(f Element) int {
	var buf, buf2 [numbers.MaxIntBytes]byte
	if e.form != longText && f.form != longText {
		return bytes.Compare(e.from(0, buf[:0]), f.from(0, buf2[:0]))
	}
	for at := 0; ; {
		a, b := e.from(at, buf[:0]), f.from(at, buf2[:0])
		n := min(len(a), len(b))
		if c := bytes.Compare(a[:n], b[:n]); c != 0 || n == 0 {
			return cmp.Or(c, cmp.Compare(len(a), len(b)))
		}
		at += n
	}
}

// from returns bytes from an offset on, at least one unless it is the end. An integer is
// written to buf.
func (e Element) from(at int, buf []byte) []byte {
	switch e.form {
	case integer:
		return strconv.AppendInt(buf, e.n, 10)[at:]
	case longText:
		return e.memory.piece(e.blob, int(e.n), at)
	}
	return e.text[at:]
}
