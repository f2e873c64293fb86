package answer

import (
	"math"
	"strconv"
)

// A Protocol is a version of RESP.
type Protocol uint8

const (
	RESP2 Protocol = 2
	RESP3 Protocol = 3
)

// AppendTo appends an answer in a protocol to dst. Requires: the answer is Valid. Cost:
// linear; no allocation if dst has capacity.
func AppendTo(dst, answer []byte, p Protocol) []byte {
	for len(answer) > 0 {
		v, rest, ok := Next(answer)
		if !ok {
			panic("answer: invalid bytes")
		}
		dst, answer = appendValue(dst, &v, p), rest
	}
	return dst
}

// appendValue appends a value, without the values within: they follow.
func appendValue(dst []byte, v *Value, p Protocol) []byte {
	switch v.Kind {
	case Nil:
		if p == RESP3 {
			return append(dst, "_\r\n"...)
		}
		return append(dst, "$-1\r\n"...)
	case False, True:
		return appendTruth(dst, v.Kind == True, p)
	case Integer:
		return appendNumber(append(dst, ':'), v.Int)
	case Double:
		return appendDouble(dst, v.Double, p)
	case Status:
		return appendLine(append(dst, '+'), v.Bytes)
	case Error:
		return appendLine(append(dst, '-'), v.Bytes)
	case Verbatim:
		if p == RESP3 {
			return appendLine(appendNumber(append(dst, '='), int64(len(v.Bytes))), v.Bytes)
		}
		return appendBulk(dst, v.Bytes[4:])
	case Bulk:
		return appendBulk(dst, v.Bytes)
	}
	sign, n := byte('*'), v.Len
	if p == RESP3 && v.Kind == Map {
		sign, n = '%', n/2
	} else if p == RESP3 && v.Kind == Set {
		sign = '~'
	}
	return appendNumber(append(dst, sign), int64(n))
}

func appendTruth(dst []byte, b bool, p Protocol) []byte {
	switch {
	case p == RESP3 && b:
		return append(dst, "#t\r\n"...)
	case p == RESP3:
		return append(dst, "#f\r\n"...)
	case b:
		return append(dst, ":1\r\n"...)
	}
	return append(dst, ":0\r\n"...)
}

// appendDouble appends a number as Redis prints it: with 17 digits, and whole numbers
// without an exponent where that is exact.
func appendDouble(dst []byte, f float64, p Protocol) []byte {
	var b [32]byte
	text := FormatDouble(b[:0], f)
	if p == RESP3 {
		return appendLine(append(dst, ','), text)
	}
	return appendBulk(dst, text)
}

// maxWhole bounds the whole numbers that doubles have all of.
const maxWhole = 1 << 53

// FormatDouble appends a number in the decimal form of Redis' replies.
func FormatDouble(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case f == 0 && math.Signbit(f):
		return append(dst, "-0"...)
	case f == math.Trunc(f) && math.Abs(f) < maxWhole:
		return strconv.AppendInt(dst, int64(f), 10)
	}
	return appendG17(dst, f)
}

// appendG17 appends f in the form %.17g of C.
func appendG17(dst []byte, f float64) []byte {
	var b [32]byte
	text := strconv.AppendFloat(b[:0], f, 'e', 16, 64) // d.dddde+xx
	at := len(text) - 1
	for text[at] != 'e' {
		at--
	}
	exponent, _ := strconv.Atoi(string(text[at+1:]))
	if exponent >= -4 && exponent < 17 {
		text = strconv.AppendFloat(b[:0], f, 'f', 16-exponent, 64)
		return append(dst, trimZeros(text)...)
	}
	dst = append(dst, trimZeros(text[:at])...)
	return append(dst, text[at:]...)
}

// trimZeros removes the zeros at the end of a fraction, and its point if nothing is left.
func trimZeros(text []byte) []byte {
	point := false
	for _, c := range text {
		point = point || c == '.'
	}
	if !point {
		return text
	}
	n := len(text)
	for text[n-1] == '0' {
		n--
	}
	if text[n-1] == '.' {
		n--
	}
	return text[:n]
}

func appendBulk(dst, b []byte) []byte {
	return appendLine(appendNumber(append(dst, '$'), int64(len(b))), b)
}

func appendLine(dst, b []byte) []byte { return append(append(dst, b...), "\r\n"...) }

func appendNumber(dst []byte, n int64) []byte {
	return append(strconv.AppendInt(dst, n, 10), "\r\n"...)
}
