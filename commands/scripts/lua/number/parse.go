package number

import (
	"bytes"
	"math"
	"strconv"
)

// maxFastDigits bounds the integers that Parse reads without strconv: they are exact.
const maxFastDigits = 15

// Parse reads a number as Lua 5.1 does, by C's strtod: decimal and hexadecimal numbers,
// with fraction and exponent, "inf", "infinity" and "nan", in any case, with blanks
// around it. A byte 0 ends text, as in C. It returns false if text is anything else.
func Parse(text []byte) (float64, bool) {
	if x, ok := parseDigits(text); ok {
		return x, true
	}
	text = trimBlanks(cut(text))
	x, n := ParsePrefix(text)
	return x, n > 0 && n == len(text)
}

// ParsePrefix reads the longest number at the beginning of text, without blanks before
// it, as strtod does. It returns the length of the number, 0 without a number.
func ParsePrefix(text []byte) (x float64, n int) {
	sign := 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		sign = 1
	}
	if x, n = parseUnsigned(text[sign:]); n == 0 {
		return 0, 0
	}
	if text[0] == '-' {
		x = -x
	}
	return x, sign + n
}

// parseDigits reads text that is nothing but a few digits.
func parseDigits(text []byte) (float64, bool) {
	if len(text) == 0 || len(text) > maxFastDigits {
		return 0, false
	}
	n := int64(0)
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int64(c-'0')
	}
	return float64(n), true
}

// parseUnsigned reads a number without a sign.
func parseUnsigned(text []byte) (x float64, n int) {
	switch {
	case len(text) == 0:
		return 0, 0
	case text[0]|0x20 == 'i' || text[0]|0x20 == 'n':
		return parseSpecial(text)
	}
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		if n = scanDigits(text[2:], isHexDigit); n > 0 {
			return parseHex(text, n+2)
		}
	}
	if n = scanDigits(text, isDigit); n == 0 {
		return 0, 0
	}
	n += scanExponent(text[n:], 'e')
	x, _ = strconv.ParseFloat(string(text[:n]), 64) // beyond the range it is infinite, as strtod's
	return x, n
}

// parseHex reads a hexadecimal number. Its digits end at n.
func parseHex(text []byte, n int) (float64, int) {
	full := text[:n]
	if exponent := scanExponent(text[n:], 'p'); exponent > 0 {
		n += exponent
		full = text[:n]
	} else {
		full = append(append(make([]byte, 0, n+2), full...), "p0"...)
	}
	x, _ := strconv.ParseFloat(string(full), 64)
	return x, n
}

// parseSpecial reads an infinity, nan, or nan with letters and digits in parentheses.
func parseSpecial(text []byte) (x float64, n int) {
	switch {
	case hasFold(text, "infinity"):
		return math.Inf(1), len("infinity")
	case hasFold(text, "inf"):
		return math.Inf(1), len("inf")
	case !hasFold(text, "nan"):
		return 0, 0
	}
	n = len("nan")
	if n < len(text) && text[n] == '(' {
		end := n + 1
		for end < len(text) && (isDigit(text[end]) || isLetter(text[end]) || text[end] == '_') {
			end++
		}
		if end < len(text) && text[end] == ')' {
			n = end + 1
		}
	}
	return InvalidPositive, n
}

// scanDigits returns the length of digits with a point or without, or 0.
func scanDigits(text []byte, isDigit func(byte) bool) int {
	n, digits, point := 0, 0, false
	for ; n < len(text); n++ {
		if text[n] == '.' && !point {
			point = true
		} else if isDigit(text[n]) {
			digits++
		} else {
			break
		}
	}
	if digits == 0 {
		return 0
	}
	return n
}

// scanExponent returns the length of an exponent after the letter mark, or 0.
func scanExponent(text []byte, mark byte) int {
	if len(text) < 2 || text[0]|0x20 != mark {
		return 0
	}
	n := 1
	if text[n] == '-' || text[n] == '+' {
		n++
	}
	digits := n
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	if n == digits {
		return 0
	}
	return n
}

// ParseBase reads an integer of a base from 2 to 36 as C's strtoul does: with blanks around
// it, a sign, and 0x in base 16. A negative integer is taken modulo 2^64, and an integer
// beyond 64 bits is 2^64-1. A byte 0 ends text. It returns false if text is anything else.
func ParseBase(text []byte, base int) (float64, bool) {
	text = trimBlanks(cut(text))
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative = text[0] == '-'
		text = text[1:]
	}
	if base == 16 && len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		text = text[2:]
	}
	if len(text) == 0 {
		return 0, false
	}
	n, tooLarge := uint64(0), false
	for _, c := range text {
		d, ok := digit(c)
		if !ok || d >= base {
			return 0, false
		}
		if n > (math.MaxUint64-uint64(d))/uint64(base) {
			tooLarge = true
		}
		n = n*uint64(base) + uint64(d)
	}
	switch {
	case tooLarge:
		n = math.MaxUint64
	case negative:
		n = -n
	}
	return float64(n), true
}

// digit returns the value of a digit or letter.
func digit(c byte) (int, bool) {
	switch {
	case isDigit(c):
		return int(c - '0'), true
	case isLetter(c):
		return int(c|0x20-'a') + 10, true
	}
	return 0, false
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isHexDigit(c byte) bool {
	d, ok := digit(c)
	return ok && d < 16
}

// hasFold reports whether text begins with lower, in any case.
func hasFold(text []byte, lower string) bool {
	if len(text) < len(lower) {
		return false
	}
	for i := range lower {
		if text[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// cut returns text before the first byte 0.
func cut(text []byte) []byte {
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return text[:i]
	}
	return text
}

// trimBlanks removes the white space of C around text.
func trimBlanks(text []byte) []byte {
	for len(text) > 0 && isBlank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && isBlank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
