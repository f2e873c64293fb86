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
	rest := text
	negative := false
	if len(rest) > 0 && (rest[0] == '-' || rest[0] == '+') {
		negative = rest[0] == '-'
		rest = rest[1:]
	}
	x, ok := parseUnsigned(rest)
	if negative {
		x = -x
	}
	return x, ok
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

func parseUnsigned(text []byte) (float64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	switch {
	case len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x':
		return parseHex(text[2:])
	case isDigit(text[0]) || text[0] == '.':
		if !isDecimal(text) {
			return 0, false
		}
		x, _ := strconv.ParseFloat(string(text), 64) // beyond the range it is infinite, as strtod's
		return x, true
	case equalFold(text, "inf") || equalFold(text, "infinity"):
		return math.Inf(1), true
	case isNaN(text):
		return math.NaN(), true
	}
	return 0, false
}

// isNaN reports whether text is nan, or nan with letters and digits in parentheses.
func isNaN(text []byte) bool {
	if len(text) < 3 || !equalFold(text[:3], "nan") {
		return false
	}
	rest := text[3:]
	if len(rest) == 0 {
		return true
	}
	if len(rest) < 2 || rest[0] != '(' || rest[len(rest)-1] != ')' {
		return false
	}
	for _, c := range rest[1 : len(rest)-1] {
		if !isDigit(c) && !isLetter(c) && c != '_' {
			return false
		}
	}
	return true
}

// isDecimal reports whether text is digits, with a fraction and an exponent or without.
func isDecimal(text []byte) bool {
	i, digits := skipDigits(text, 0)
	if i < len(text) && text[i] == '.' {
		j, more := skipDigits(text, i+1)
		i, digits = j, digits+more
	}
	return digits > 0 && isExponent(text[i:], 'e')
}

// skipDigits returns the index behind the digits from i on, and their number.
func skipDigits(text []byte, i int) (end, n int) {
	end = i
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	return end, end - i
}

// isExponent reports whether text is empty or an exponent behind the letter mark.
func isExponent(text []byte, mark byte) bool {
	if len(text) == 0 {
		return true
	}
	if text[0]|0x20 != mark {
		return false
	}
	text = text[1:]
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		text = text[1:]
	}
	end, n := skipDigits(text, 0)
	return n > 0 && end == len(text)
}

// parseHex reads the rest of a hexadecimal number behind 0x.
func parseHex(text []byte) (float64, bool) {
	i, digits, point := 0, 0, false
	for ; i < len(text); i++ {
		if text[i] == '.' && !point {
			point = true
			continue
		}
		if _, ok := digit(text[i]); !ok || text[i]|0x20 > 'f' {
			break
		}
		digits++
	}
	if digits == 0 || !isExponent(text[i:], 'p') {
		return 0, false
	}
	full := append(append(make([]byte, 0, len(text)+4), "0x"...), text...)
	if i == len(text) {
		full = append(full, "p0"...)
	}
	x, _ := strconv.ParseFloat(string(full), 64)
	return x, true
}

// ParseBase reads an integer of a base from 2 to 36 as C's strtoul does: with blanks
// around it, a sign, and 0x in base 16. A negative one is taken modulo 2^64, and one
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

func equalFold(text []byte, lower string) bool {
	if len(text) != len(lower) {
		return false
	}
	for i, c := range text {
		if c|0x20 != lower[i] {
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
func trimBlanks(text []byte) []byte { return bytes.Trim(text, " \t\n\v\f\r") }
