package pattern

// classEnd returns the index after the single-character class at p.
func (m *Matcher) classEnd(p int) int {
	c := m.pattern[p]
	p++
	switch c {
	case '%':
		if p >= len(m.pattern) {
			m.Fail("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		if m.patternAt(p) == '^' {
			p++
		}
		for first := true; first || m.patternAt(p) != ']'; first = false {
			if p >= len(m.pattern) {
				m.Fail("malformed pattern (missing ']')")
			}
			p++
			if m.pattern[p-1] == '%' && p < len(m.pattern) {
				p++
			}
		}
		return p + 1
	}
	return p
}

// single reports whether the byte of the subject at s is in the class from p to class.
func (m *Matcher) single(s, p, class int) bool {
	if s >= len(m.subject) {
		return false
	}
	c := m.subject[s]
	switch m.pattern[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pattern[p+1])
	case '[':
		return m.inSet(c, p, class-1)
	}
	return m.pattern[p] == c
}

// inSet reports whether c is in the set from the bracket at p to the bracket at last.
func (m *Matcher) inSet(c byte, p, last int) bool {
	m.Left -= int64((last - p) / 16)
	found := true
	if m.patternAt(p+1) == '^' {
		found = false
		p++
	}
	for p++; p < last; p++ {
		switch {
		case m.pattern[p] == '%':
			p++
			if inClass(c, m.patternAt(p)) {
				return found
			}
		case m.patternAt(p+1) == '-' && p+2 < last:
			if m.pattern[p] <= c && c <= m.pattern[p+2] {
				return found
			}
			p += 2
		case m.pattern[p] == c:
			return found
		}
	}
	return !found
}

// inClass reports whether c is in the class of a letter after %. Other bytes stand for
// themselves.
func inClass(c, letter byte) bool {
	var in bool
	switch letter | 0x20 {
	case 'a':
		in = isAlpha(c)
	case 'c':
		in = c < 32 || c == 127
	case 'd':
		in = isDigit(c)
	case 'l':
		in = c >= 'a' && c <= 'z'
	case 'p':
		in = c > 32 && c < 127 && !isAlpha(c) && !isDigit(c)
	case 's':
		in = c == ' ' || c >= 9 && c <= 13
	case 'u':
		in = c >= 'A' && c <= 'Z'
	case 'w':
		in = isAlpha(c) || isDigit(c)
	case 'x':
		in = isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return letter == c
	}
	if !isAlpha(letter) {
		return letter == c
	}
	return in == (letter >= 'a')
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
