package datatypes

import (
	"bytes"
	"math"
	"math/big"
)

// An extended is a number of C's long double on amd64, in which Redis computes: 64 bits of
// precision, of up to maxDecimal digits. The zero value is 0.
type extended struct {
	finite big.Float
	inf    int  // sign of an infinite number, or 0
	nan    bool // of opposite infinite numbers
}

const (
	precision = 64
	// maxDecimal bounds the decimal exponent: 1e4933 is infinite, and 1e-4951 is zero.
	maxDecimal, minDecimal = 4933, -4951
	// maxNumber is the length from which Redis refuses a number.
	maxNumber = 5 * 1024
)

// greatest is the greatest finite number, 2^16384 - 2^16320.
var greatest = new(big.Float).SetPrec(precision).SetMantExp(new(big.Float).SetUint64(math.MaxUint64), 16384-64)

// parseExtended parses a number as C's strtold does, which must use all of text. ok is false
// for other text, and for numbers that are too great or round to zero.
func parseExtended(text []byte) (x extended, ok bool) {
	if len(text) == 0 || len(text) >= maxNumber {
		return x, false
	}
	digits, sign := text, 1
	if text[0] == '+' || text[0] == '-' {
		digits = text[1:]
		if text[0] == '-' {
			sign = -1
		}
	}
	if bytes.EqualFold(digits, []byte("inf")) || bytes.EqualFold(digits, []byte("infinity")) {
		x.inf = sign
		return x, true
	}
	if !sensible(digits) {
		return x, false
	}
	x.finite.SetPrec(precision)
	if _, _, err := x.finite.Parse(string(text), 0); err != nil {
		return x, false
	}
	size := new(big.Float).Abs(&x.finite)
	if size.Cmp(greatest) > 0 || size.Sign() == 0 && bytes.ContainsAny(mantissa(digits), "123456789abcdefABCDEF") {
		return x, false
	}
	return x, true
}

// isHex reports whether a number without sign begins as a hexadecimal one.
func isHex(digits []byte) bool {
	return len(digits) > 2 && digits[0] == '0' && digits[1]|' ' == 'x'
}

// mantissa returns the part of a number without sign before its exponent.
func mantissa(digits []byte) []byte {
	mark := "eE"
	if isHex(digits) {
		digits, mark = digits[2:], "pP"
	}
	if at := bytes.IndexAny(digits, mark); at >= 0 {
		return digits[:at]
	}
	return digits
}

// sensible reports whether a number without sign has C's form, and an exponent in the range
// of finite numbers.
func sensible(digits []byte) bool {
	whole := mantissa(digits)
	hex := isHex(digits)
	exponent := digits[len(whole):]
	if hex {
		exponent = digits[2+len(whole):]
	}
	count, point, zero := 0, -1, true
	lead := 0 // decimal or hexadecimal exponent of the first digit that is not 0
	for _, c := range whole {
		switch {
		case c == '.' && point < 0:
			point = count
			continue
		case '0' <= c && c <= '9', hex && 'a' <= c|' ' && c|' ' <= 'f':
		default:
			return false
		}
		if zero && c != '0' {
			zero, lead = false, count
		}
		count++
	}
	if point < 0 {
		point = count
	}
	if count == 0 {
		return false
	}
	n := 0
	if len(exponent) > 0 {
		var ok bool
		if n, ok = parseExponent(exponent[1:]); !ok {
			return false
		}
	}
	if zero {
		return n >= -maxNumber*8 && n <= maxNumber*8
	}
	if hex {
		n += 4 * (point - lead)
		return n <= 16400 && n >= -16500
	}
	n += point - lead
	return n <= maxDecimal && n >= minDecimal
}

// parseExponent parses an exponent, cut to 8 digits.
func parseExponent(b []byte) (n int, ok bool) {
	sign := 1
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		if b[0] == '-' {
			sign = -1
		}
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = min(n*10+int(c-'0'), 1e8)
	}
	return sign * n, true
}

// add returns x + y.
func (x extended) add(y extended) (sum extended) {
	switch {
	case x.nan || y.nan || x.inf*y.inf < 0:
		sum.nan = true
	case x.inf != 0 || y.inf != 0:
		sum.inf = x.inf | y.inf
	default:
		sum.finite.SetPrec(precision).Add(&x.finite, &y.finite)
		if new(big.Float).Abs(&sum.finite).Cmp(greatest) > 0 {
			sum.inf = sum.finite.Sign()
		}
	}
	return sum
}

func (x *extended) isFinite() bool { return !x.nan && x.inf == 0 }

// append appends the decimal form: 17 digits behind the point, without zeros at the end.
func (x *extended) append(dst []byte) []byte {
	from := len(dst)
	dst = x.finite.Append(dst, 'f', 17)
	n := len(dst)
	for dst[n-1] == '0' {
		n--
	}
	if dst[n-1] == '.' {
		n--
	}
	if string(dst[from:n]) == "-0" {
		return append(dst[:from], '0')
	}
	return dst[:n]
}
