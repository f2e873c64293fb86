package number

import (
	"bytes"
	"math"
	"strconv"
)

// A Spec is a conversion of C's printf.
type Spec struct {
	Minus, Plus, Space, Sharp, Zero bool
	Width                           int
	Precision                       int // below 0: no precision
	Verb                            byte
}

// AppendInt appends n by the verbs d, i and u, o, x, X, which take n as unsigned.
func (s Spec) AppendInt(dst []byte, n int64) []byte {
	var digits [72]byte
	body := digits[:0]
	sign, prefix := "", ""
	switch s.Verb {
	case 'o':
		body = strconv.AppendUint(body, uint64(n), 8)
	case 'x', 'X':
		body = strconv.AppendUint(body, uint64(n), 16)
		if s.Sharp && n != 0 {
			prefix = "0x"
		}
	case 'u':
		body = strconv.AppendUint(body, uint64(n), 10)
	default:
		sign = s.sign(n < 0)
		magnitude := uint64(n)
		if n < 0 {
			magnitude = -magnitude
		}
		body = strconv.AppendUint(body, magnitude, 10)
	}
	if s.Precision == 0 && n == 0 {
		body = body[:0]
	}
	zeros := max(0, s.Precision-len(body))
	if s.Verb == 'o' && s.Sharp && zeros == 0 && (len(body) == 0 || body[0] != '0') {
		zeros = 1
	}
	if s.Zero && !s.Minus && s.Precision < 0 {
		zeros = max(zeros, s.Width-len(sign)-len(prefix)-len(body))
	}
	start := len(dst)
	dst = append(append(dst, sign...), prefix...)
	for range zeros {
		dst = append(dst, '0')
	}
	dst = append(dst, body...)
	if s.Verb == 'X' {
		upper(dst[start:])
	}
	return s.pad(dst, start)
}

func (s Spec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case s.Plus:
		return "+"
	case s.Space:
		return " "
	}
	return ""
}

// AppendFloat appends x by the verbs e, E, f, g and G.
func (s Spec) AppendFloat(dst []byte, x float64) []byte {
	start := len(dst)
	dst = append(dst, s.sign(math.Signbit(x))...)
	digits := len(dst)
	special := math.IsNaN(x) || math.IsInf(x, 0)
	if special {
		dst = appendSpecial(dst, math.Copysign(x, 1))
	} else {
		dst = s.appendFinite(dst, math.Abs(x))
	}
	if s.Verb == 'E' || s.Verb == 'G' {
		upper(dst[digits:])
	}
	if zeros := s.Width - (len(dst) - start); zeros > 0 && s.Zero && !s.Minus && !special {
		dst = append(dst, make([]byte, zeros)...)
		copy(dst[digits+zeros:], dst[digits:len(dst)-zeros])
		for i := range zeros {
			dst[digits+i] = '0'
		}
	}
	return s.pad(dst, start)
}

// appendFinite appends a finite x that is not negative.
func (s Spec) appendFinite(dst []byte, x float64) []byte {
	precision := s.Precision
	if precision < 0 {
		precision = 6
	}
	start := len(dst)
	switch s.Verb | 0x20 {
	case 'f':
		dst = strconv.AppendFloat(dst, x, 'f', precision, 64)
	case 'e':
		dst = strconv.AppendFloat(dst, x, 'e', precision, 64)
	default:
		precision = max(1, precision)
		if !s.Sharp {
			return AppendGeneral(dst, x, precision)
		}
		return appendGeneralWide(dst, x, precision)
	}
	if s.Sharp && precision == 0 {
		dst = insertPoint(dst, start)
	}
	return dst
}

// appendGeneralWide appends x as %#.[digits]g: with trailing zeros.
func appendGeneralWide(dst []byte, x float64, digits int) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, x, 'e', digits-1, 64)
	mark := start + bytes.IndexByte(dst[start:], 'e')
	exponent, _ := strconv.Atoi(string(dst[mark+1:]))
	if exponent >= -4 && exponent < digits {
		dst = strconv.AppendFloat(dst[:start], x, 'f', digits-1-exponent, 64)
	}
	if bytes.IndexByte(dst[start:], '.') < 0 {
		dst = insertPoint(dst, start)
	}
	return dst
}

// insertPoint inserts a point into dst, which has digits from start on.
func insertPoint(dst []byte, start int) []byte {
	end := start
	for end < len(dst) && isDigit(dst[end]) {
		end++
	}
	dst = append(dst, 0)
	copy(dst[end+1:], dst[end:])
	dst[end] = '.'
	return dst
}

// AppendText appends text by the verbs s and c.
func (s Spec) AppendText(dst, text []byte) []byte {
	if s.Verb == 's' && s.Precision >= 0 && s.Precision < len(text) {
		text = text[:s.Precision]
	}
	start := len(dst)
	return s.pad(append(dst, text...), start)
}

// pad fills dst from start on with blanks up to the width.
func (s Spec) pad(dst []byte, start int) []byte {
	blanks := s.Width - (len(dst) - start)
	if blanks <= 0 {
		return dst
	}
	end := len(dst)
	for range blanks {
		dst = append(dst, ' ')
	}
	if !s.Minus {
		copy(dst[start+blanks:], dst[start:end])
		for i := range blanks {
			dst[start+i] = ' '
		}
	}
	return dst
}

func upper(text []byte) {
	for i, c := range text {
		if c >= 'a' && c <= 'z' {
			text[i] = c - 0x20
		}
	}
}

// ToInt is C's cast of a double to a 64-bit integer as x86 does it: toward zero; NaN and
// numbers out of range become the least integer.
func ToInt(x float64) int64 {
	if x >= -0x1p63 && x < 0x1p63 {
		return int64(x)
	}
	return math.MinInt64
}

// ToUint is the cast to an unsigned 64-bit integer: negative numbers wrap.
func ToUint(x float64) uint64 {
	switch {
	case x >= 0x1p63 && x < 0x1p64:
		return uint64(x-0x1p63) | 1<<63
	case x >= 0x1p64:
		return 0
	}
	return uint64(ToInt(x))
}

// ToInt32 is the cast to a 32-bit integer.
func ToInt32(x float64) int32 {
	if x > -0x1p31-1 && x < 0x1p31 {
		return int32(x)
	}
	return math.MinInt32
}
