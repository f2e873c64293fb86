package numbers

// A form is the form of a number in a text.
type form uint8

const (
	noNumber form = iota
	decimal
	hexadecimal
	infinity
	notANumber
)

// A scanned is a number at the start of a text, with the grammar of strtod in the C
// locale: decimal and hexadecimal numbers, "inf", "infinity", "nan" and "nan(...)", in
// any case.
type scanned struct {
	form     form
	negative bool
	digits   []byte // without sign, prefix and exponent; a point is among them
	exponent int    // of 10, or of 2 if hexadecimal; limited to +-maxExponent
	length   int    // of the whole number, with its sign
}

// maxExponent bounds exponents: no text of MaxExtendedBytes reaches a finite number other
// than 0 with a larger exponent.
const maxExponent = 1 << 20

// scan reads the number at the start of b.
func scan(b []byte) scanned {
	var s scanned
	at := 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		s.negative = b[0] == '-'
		at = 1
	}
	switch rest := b[at:]; {
	case hasPrefixFold(rest, "infinity"):
		s.form, s.length = infinity, at+len("infinity")
	case hasPrefixFold(rest, "inf"):
		s.form, s.length = infinity, at+len("inf")
	case hasPrefixFold(rest, "nan"):
		s.form, s.length = notANumber, at+len("nan")+payload(rest[len("nan"):])
	case hasPrefixFold(rest, "0x") && mantissa(rest[2:], isHexDigit) > 0:
		s.form = hexadecimal
		s.read(b, at+2, isHexDigit, 'p')
	default:
		s.form = decimal
		s.read(b, at, isDigit, 'e')
		if len(s.digits) == 0 {
			return scanned{}
		}
	}
	return s
}

// read reads the digits at an offset and the exponent after them.
func (s *scanned) read(b []byte, at int, isDigit func(byte) bool, mark byte) {
	n := mantissa(b[at:], isDigit)
	s.digits = b[at : at+n]
	at += n
	s.length = at
	if n == 0 || at == len(b) || b[at]|0x20 != mark {
		return
	}
	at++
	negative := false
	if at < len(b) && (b[at] == '-' || b[at] == '+') {
		negative = b[at] == '-'
		at++
	}
	for ; at < len(b) && b[at]-'0' <= 9; at++ {
		s.exponent = min(s.exponent*10+int(b[at]-'0'), maxExponent)
		s.length = at + 1
	}
	if negative {
		s.exponent = -s.exponent
	}
}

// mantissa returns the length of the digits, with at most one point, at the start of b; 0
// without digits.
func mantissa(b []byte, isDigit func(byte) bool) int {
	digits, points := 0, 0
	for _, c := range b {
		switch {
		case isDigit(c):
			digits++
		case c == '.' && points == 0:
			points++
		default:
			if digits == 0 {
				return 0
			}
			return digits + points
		}
	}
	if digits == 0 {
		return 0
	}
	return digits + points
}

// payload returns the length of the parenthesis after "nan", 0 if there is no whole
// parenthesis.
func payload(b []byte) int {
	if len(b) == 0 || b[0] != '(' {
		return 0
	}
	for i, c := range b[1:] {
		switch {
		case c == ')':
			return i + 2
		case !isDigit(c) && c != '_' && (c|0x20 < 'a' || c|0x20 > 'z'):
			return 0
		}
	}
	return 0
}

// isZero reports whether all digits are 0.
func (s *scanned) isZero() bool {
	for _, c := range s.digits {
		if c != '0' && c != '.' {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func isHexDigit(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isSpace(c byte) bool { return c == ' ' || c-'\t' <= '\r'-'\t' }

// hasPrefixFold reports whether b starts with a prefix in lower case, in any case.
func hasPrefixFold(b []byte, prefix string) bool {
	if len(b) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if c := b[i]; c != prefix[i] && (c|0x20 != prefix[i] || c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
