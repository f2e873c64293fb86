package numbers

import (
	"bytes"
	"math"
	"strconv"
)

// ParseDouble reads a double that is the whole text, as ZADD and ZINCRBY do: "inf" is
// accepted; "nan", a number beyond the range of doubles, and white space are not.
func ParseDouble(b []byte) (x float64, ok bool) {
	if n, ok := ParseInt(b); ok {
		return float64(n), true
	}
	s := scan(b)
	if s.form == noNumber || s.form == notANumber || s.length != len(b) {
		return 0, false
	}
	x = s.double(b)
	if s.form != infinity && (math.IsInf(x, 0) || x == 0 && !s.isZero()) {
		return 0, false
	}
	return x, true
}

// double returns the nearest double to the number scanned from b, infinite if it is
// beyond the range of doubles.
func (s *scanned) double(b []byte) float64 {
	var x float64
	switch s.form {
	case infinity:
		x = math.Inf(1)
	case notANumber:
		return math.NaN()
	case hexadecimal: // strconv demands an exponent
		b = strconv.AppendInt(append(append([]byte("0x"), s.digits...), 'p'), int64(s.exponent), 10)
		x, _ = strconv.ParseFloat(string(b), 64)
	default:
		b = b[:s.length]
		if b[0] == '-' || b[0] == '+' {
			b = b[1:]
		}
		x, _ = strconv.ParseFloat(string(b), 64)
	}
	if s.negative {
		return -x
	}
	return x
}

// ParseScoreBound reads a bound of a range of scores: a double, after "(" if it is
// exclusive. White space before the double, doubles beyond the range, and the empty text
// for 0 are accepted, "nan" is not. The text ends at its first byte 0.
func ParseScoreBound(b []byte) (x float64, exclusive, ok bool) {
	if len(b) > 0 && b[0] == '(' {
		exclusive, b = true, b[1:]
	}
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	number := b
	for len(number) > 0 && isSpace(number[0]) {
		number = number[1:]
	}
	s := scan(number)
	switch {
	case s.form == noNumber:
		return 0, exclusive, len(b) == 0
	case s.form == notANumber || s.length != len(number):
		return 0, exclusive, false
	}
	return s.double(number), exclusive, true
}

// AppendDouble appends a double as it is in replies: whole numbers in all digits up to
// 2^62, other numbers with few digits that identify them, "inf", "-inf", "nan" and "-0".
func AppendDouble(dst []byte, x float64) []byte {
	const maxWhole = 1 << 62
	switch {
	case math.IsNaN(x):
		return append(dst, "nan"...)
	case math.IsInf(x, 1):
		return append(dst, "inf"...)
	case math.IsInf(x, -1):
		return append(dst, "-inf"...)
	case x == 0 && math.Signbit(x):
		return append(dst, "-0"...)
	case x >= -maxWhole && x <= maxWhole && x == math.Trunc(x):
		return strconv.AppendInt(dst, int64(x), 10)
	}
	if x < 0 {
		dst, x = append(dst, '-'), -x
	}
	var buf [maxDigits]byte
	digits, last := appendShortest(buf[:0], x)
	return appendDigits(dst, digits, last)
}

// appendDigits appends a number with digits; last is the exponent of 10 of the last digit.
// The limits between the forms are the limits of Redis.
func appendDigits(dst, digits []byte, last int) []byte {
	var (
		n        = len(digits)
		exponent = last + n - 1 // of the first digit
		size     = max(exponent, -exponent)
	)
	switch {
	case last >= 0 && size < n+7:
		dst = append(dst, digits...)
		return appendZeros(dst, last)
	case last < 0 && (last > -7 || size < 4):
		if exponent < 0 {
			dst = appendZeros(append(dst, "0."...), -exponent-1)
			return append(dst, digits...)
		}
		dst = append(dst, digits[:exponent+1]...)
		return append(append(dst, '.'), digits[exponent+1:]...)
	}
	dst = append(dst, digits[0])
	if n > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	sign := byte('+')
	if exponent < 0 {
		sign = '-'
	}
	return strconv.AppendInt(append(dst, 'e', sign), int64(size), 10)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// A LexBound is a bound of a range of members in the order of their bytes.
type LexBound struct {
	Member    []byte
	Exclusive bool
	Infinite  int // -1: before all members; 1: after all members; 0: Member is the bound
}

// ParseLexBound reads "-", "+", "[member" or "(member". The bound refers to b.
func ParseLexBound(b []byte) (bound LexBound, ok bool) {
	if len(b) == 0 {
		return bound, false
	}
	switch first, rest := b[0], b[1:]; first {
	case '-':
		return LexBound{Infinite: -1}, len(rest) == 0 || rest[0] == 0
	case '+':
		return LexBound{Infinite: 1}, len(rest) == 0 || rest[0] == 0
	case '(', '[':
		return LexBound{Member: rest, Exclusive: first == '('}, true
	}
	return bound, false
}
