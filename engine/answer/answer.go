// Package answer defines the neutral form of answers of commands on plain values, until a
// connection renders it for its protocol or a script takes it as values. It imports
// values/numbers.
//
// An answer is a value. A value is a byte, its Kind, and its content:
//
//	Nil, False, True                nothing
//	Integer                         signed varint
//	Double                          8 bytes, little-endian IEEE 754
//	Bulk, Status, Error, Verbatim,  length as unsigned varint; the bytes
//	BigNumber
//	Array, Set                      number of values as unsigned varint; the values
//	Map                             number of pairs as unsigned varint; keys and values in turn
//	NilArray                        nothing
//	Pairs                           number of pairs as unsigned varint; the pairs
//	Pair                            two values
//
// A NilArray is the Nil of an array, which RESP2 distinguishes. Pairs are an array of arrays of
// two in RESP3, and of their values in turn in RESP2.
//
// The bytes of an Error start with its code word; the bytes of a Verbatim with its format,
// 3 bytes, and a colon.
//
// The form is sent between nodes: kinds keep their numbers.
package answer

import (
	"encoding/binary"
	"math"
)

// A Kind is the kind of a value.
type Kind byte

const (
	Nil Kind = iota
	False
	True
	Integer
	Double
	Bulk
	Status
	Error
	Verbatim
	Array
	Map
	Set
	NilArray
	Pairs
	Pair
	BigNumber
	kinds
)

// OK is the answer of a command that has done its work.
var OK = AppendStatus(nil, "OK")

// Unanswered is the answer, between nodes, of a call if that answer did not fit into its batch. A
// node of an earlier version passes it on to its client.
var Unanswered = AppendError(nil,
	"TRYAGAIN the answers of the commands before it were too long; send fewer commands at a time")

// AppendNil appends a Nil.
func AppendNil(dst []byte) []byte { return append(dst, byte(Nil)) }

// AppendNilArray appends a NilArray.
func AppendNilArray(dst []byte) []byte { return append(dst, byte(NilArray)) }

// AppendBool appends a True or a False.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, byte(True))
	}
	return append(dst, byte(False))
}

// AppendInt appends an Integer.
func AppendInt(dst []byte, n int64) []byte {
	if uint64(n) < 0x40 { // a byte
		return append(dst, byte(Integer), byte(n<<1))
	}
	return binary.AppendVarint(append(dst, byte(Integer)), n)
}

// AppendDouble appends a Double.
func AppendDouble(dst []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(append(dst, byte(Double)), math.Float64bits(f))
}

// AppendBulk appends a Bulk.
func AppendBulk(dst, b []byte) []byte { return append(AppendBulkHead(dst, len(b)), b...) }

// AppendBulkHead appends the start of a Bulk. The caller must append its n bytes.
func AppendBulkHead(dst []byte, n int) []byte { return appendCount(dst, Bulk, n) }

// AppendStatus appends a Status, without line breaks.
func AppendStatus(dst []byte, text string) []byte {
	return append(appendCount(dst, Status, len(text)), text...)
}

// AppendError appends an Error, without line breaks, that begins with a code word.
func AppendError(dst []byte, text string) []byte {
	return append(appendCount(dst, Error, len(text)), text...)
}

// AppendVerbatim appends a Verbatim. Requires: format has 3 bytes.
func AppendVerbatim(dst []byte, format string, text []byte) []byte {
	dst = append(appendCount(dst, Verbatim, len(format)+1+len(text)), format...)
	return append(append(dst, ':'), text...)
}

// AppendBigNumber appends a BigNumber, an integer in decimal form, without line breaks.
func AppendBigNumber(dst []byte, digits string) []byte {
	return append(appendCount(dst, BigNumber, len(digits)), digits...)
}

// AppendArray appends the start of an Array. The caller must append its n values.
func AppendArray(dst []byte, n int) []byte { return appendCount(dst, Array, n) }

// AppendMap appends the start of a Map. The caller must append its n keys and values.
func AppendMap(dst []byte, n int) []byte { return appendCount(dst, Map, n) }

// AppendSet appends the start of a Set. The caller must append its n values.
func AppendSet(dst []byte, n int) []byte { return appendCount(dst, Set, n) }

// AppendPairs appends the start of Pairs. The caller must append n times a Pair.
func AppendPairs(dst []byte, n int) []byte { return appendCount(dst, Pairs, n) }

// AppendPair appends the start of a Pair. The caller must append its two values.
func AppendPair(dst []byte) []byte { return append(dst, byte(Pair)) }

func appendCount(dst []byte, k Kind, n int) []byte {
	if uint(n) < 0x80 { // a byte
		return append(dst, byte(k), byte(n))
	}
	return binary.AppendUvarint(append(dst, byte(k)), uint64(n))
}

// A Value is a value of an answer. Of an Array, Map or Set it is the start.
type Value struct {
	Kind   Kind
	Int    int64   // of an Integer
	Double float64 // of a Double
	Bytes  []byte  // of a Bulk, Status, Error, Verbatim or BigNumber; part of the answer
	Len    int     // number of values that follow: for a Map two for each pair
}

// IsError reports whether an answer is an Error.
func IsError(answer []byte) bool { return len(answer) > 0 && Kind(answer[0]) == Error }

// TakeInt takes an Integer off an answer, if it starts with an Integer: the most usual
// value.
func TakeInt(data []byte) (n int64, rest []byte, ok bool) {
	if len(data) == 0 || Kind(data[0]) != Integer {
		return 0, data, false
	}
	if len(data) > 1 && data[1] < 0x80 { // most numbers are small
		return int64(data[1]>>1) ^ -int64(data[1]&1), data[2:], true
	}
	n, size := binary.Varint(data[1:])
	if size <= 0 {
		return 0, data, false
	}
	return n, data[1+size:], true
}

// TakeBulk takes a Bulk off an answer, if it starts with a text of less than 128 bytes.
func TakeBulk(data []byte) (b, rest []byte, ok bool) {
	if len(data) < 2 || Kind(data[0]) != Bulk || data[1] >= 0x80 || int(data[1]) > len(data)-2 {
		return nil, data, false
	}
	end := 2 + int(data[1])
	return data[2:end:end], data[end:], true
}

// Next takes the first value off an answer. ok is false if data does not start with a
// value. It does not check the values within.
func Next(data []byte) (v Value, rest []byte, ok bool) {
	if len(data) == 0 || data[0] >= byte(kinds) {
		return v, nil, false
	}
	v.Kind = Kind(data[0])
	data = data[1:]
	switch v.Kind {
	case Nil, False, True, NilArray:
		return v, data, true
	case Pair:
		v.Len = 2
		return v, data, true
	case Integer:
		n, size := binary.Varint(data)
		if size <= 0 {
			return v, nil, false
		}
		v.Int = n
		return v, data[size:], true
	case Double:
		if len(data) < 8 {
			return v, nil, false
		}
		v.Double = math.Float64frombits(binary.LittleEndian.Uint64(data))
		return v, data[8:], true
	}
	n, size := uint64(0), 1
	if len(data) > 0 && data[0] < 0x80 { // most lengths are short
		n = uint64(data[0])
	} else if n, size = binary.Uvarint(data); size <= 0 {
		return v, nil, false
	}
	if n > uint64(len(data)) {
		return v, nil, false
	}
	data = data[size:]
	switch v.Kind {
	case Array, Set, Pairs:
		v.Len = int(n)
		return v, data, v.Len <= len(data) // a value has a byte at least
	case Map:
		v.Len = 2 * int(n)
		return v, data, v.Len <= len(data)
	}
	if int(n) > len(data) || v.Kind == Verbatim && (n < 4 || data[3] != ':') {
		return v, nil, false
	}
	v.Bytes = data[:n:n]
	return v, data[n:], true
}

// MaxDepth bounds the values around a value.
const MaxDepth = 32

// Valid reports whether data is a single whole answer. Cost: linear; no allocation.
func Valid(data []byte) bool {
	rest, ok := skip(data, 0)
	return ok && len(rest) == 0
}

// skip takes a value with all within off data.
func skip(data []byte, depth int) (rest []byte, ok bool) {
	v, rest, ok := Next(data)
	for range v.Len {
		if !ok || depth == MaxDepth {
			return nil, false
		}
		rest, ok = skip(rest, depth+1)
	}
	return rest, ok
}
