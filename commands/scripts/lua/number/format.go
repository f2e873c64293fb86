package number

import (
	"bytes"
	"math"
	"strconv"
)

// precision is the number of significant digits of Append.
const precision = 14

// maxWhole bounds the absolute values that Append writes as integers: all below it have
// at most precision digits.
const maxWhole = 1e14

// Append appends the text of x, as C's printf writes %.14g. A NaN is "nan" or "-nan"
// according to its sign bit. Cost: whole numbers below 1e14 take a short path.
func Append(dst []byte, x float64) []byte {
	if whole := int64(x); float64(whole) == x && whole < maxWhole && whole > -maxWhole &&
		(whole != 0 || !math.Signbit(x)) {
		return strconv.AppendInt(dst, whole, 10)
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return appendSpecial(dst, x)
	}
	return AppendGeneral(dst, x, precision)
}

// appendSpecial appends an infinity or a NaN.
func appendSpecial(dst []byte, x float64) []byte {
	if math.Signbit(x) {
		dst = append(dst, '-')
	}
	if math.IsNaN(x) {
		return append(dst, "nan"...)
	}
	return append(dst, "inf"...)
}

// AppendGeneral appends a finite x as %.[digits]g: without trailing zeros, with an
// exponent if that is below -4 or at least digits. digits is at least 1.
func AppendGeneral(dst []byte, x float64, digits int) []byte {
	var buffer [128]byte
	text := strconv.AppendFloat(buffer[:0], x, 'e', digits-1, 64)
	if text[0] == '-' {
		dst = append(dst, '-')
		text = text[1:]
	}
	mark := bytes.LastIndexByte(text, 'e')
	exponent := 0
	for _, c := range text[mark+2:] {
		exponent = 10*exponent + int(c-'0')
	}
	if text[mark+1] == '-' {
		exponent = -exponent
	}
	if exponent < -4 || exponent >= digits {
		start := len(dst)
		dst = trimZeros(append(dst, text[:mark]...), start)
		return append(dst, text[mark:]...)
	}
	plain := text[:1] // the digits without the point
	if digits > 1 {
		copy(text[1:], text[2:mark])
		plain = text[:mark-1]
	}
	return trimZeros(appendPlain(dst, plain, exponent), len(dst))
}

// appendPlain appends digits in a form without an exponent. exponent is the exponent of the
// first digit. Requires: exponent < len(digits).
func appendPlain(dst, digits []byte, exponent int) []byte {
	if exponent >= 0 {
		dst = append(dst, digits[:exponent+1]...)
		if rest := digits[exponent+1:]; len(rest) > 0 {
			dst = append(append(dst, '.'), rest...)
		}
		return dst
	}
	dst = append(dst, '0', '.')
	for range -exponent - 1 {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// trimZeros removes trailing zeros of a fraction that starts after start, and its point.
func trimZeros(dst []byte, start int) []byte {
	if bytes.IndexByte(dst[start:], '.') < 0 {
		return dst
	}
	dst = bytes.TrimRight(dst, "0")
	return bytes.TrimSuffix(dst, []byte("."))
}
