package pattern

import "bytes"

// maxCaptures and maxDepth bound the captures as Lua does, and the depth of the recursion.
const (
	maxCaptures = 32
	maxDepth    = 20000
)

// Lengths of captures that are no text.
const (
	unfinished = -1
	position   = -2
)

// A capture is a part of the subject.
type capture struct{ start, length int }

// A Matcher matches a pattern. It may be used again after Init.
type Matcher struct {
	// Left counts the steps down. Below 0 Exceeded is called, which must not return.
	Left     int64
	Exceeded func()
	// Prepaid charges the search for the end of a set after %f too.
	Prepaid bool
	// Fail is called for errors in the pattern, and must not return.
	Fail func(message string)

	subject, pattern []byte
	captures         [maxCaptures]capture
	level            int // captures begun
	depth            int
}

// Init prepares the match of a pattern, which ends at its first byte 0.
func (m *Matcher) Init(subject, pattern []byte) {
	if i := bytes.IndexByte(pattern, 0); i >= 0 {
		pattern = pattern[:i]
	}
	m.subject, m.pattern = subject, pattern
}

// IsPlain reports whether a pattern has no special characters before its first byte 0.
func IsPlain(pattern []byte) bool {
	for _, c := range pattern {
		switch c {
		case 0:
			return true
		case '^', '$', '*', '+', '?', '.', '(', '[', '%', '-':
			return false
		}
	}
	return true
}

// Anchored reports whether the pattern begins with ^.
func (m *Matcher) Anchored() bool { return len(m.pattern) > 0 && m.pattern[0] == '^' }

// At matches the pattern from an index of it on at an index of the subject. It returns
// the end of the match, or -1.
func (m *Matcher) At(s, p int) int {
	m.level, m.depth = 0, 0
	return m.match(s, p)
}

// Captures returns the number of captures of the last match: the match itself counts if
// there are no captures.
func (m *Matcher) Captures() int { return max(1, m.level) }

// Capture returns the capture of an index, from 0, of the match from start to end. If
// isPosition, the capture is the position from+1.
func (m *Matcher) Capture(i, start, end int) (from, to int, isPosition bool) {
	if i >= m.level {
		if i > 0 {
			m.Fail("invalid capture index")
		}
		return start, end, false
	}
	c := m.captures[i]
	if c.length == unfinished {
		m.Fail("unfinished capture")
	}
	if c.length == position {
		return c.start, c.start, true
	}
	return c.start, c.start + c.length, false
}

// Groups returns the number of captures of the pattern in the last match.
func (m *Matcher) Groups() int { return m.level }

func (m *Matcher) step() { m.Spend(1) }

// Spend counts n steps.
func (m *Matcher) Spend(n int) {
	if m.Left -= int64(n); m.Left < 0 {
		m.Exceeded()
	}
}

// patternAt returns a byte of the pattern, or 0 at its end.
func (m *Matcher) patternAt(p int) byte {
	if p < len(m.pattern) {
		return m.pattern[p]
	}
	return 0
}

// stepsPerLevel is the number of steps that count for a level of the recursion, since Go's stack
// grows by it.
const stepsPerLevel = 2

// match matches the pattern from p on at s. It returns the end of the match, or -1.
func (m *Matcher) match(s, p int) int {
	if m.depth++; m.depth > maxDepth {
		m.Fail("pattern too complex")
	}
	defer func() { m.depth-- }()
	m.Left -= stepsPerLevel
	for p < len(m.pattern) {
		m.step()
		switch c := m.pattern[p]; {
		case c == '(' && m.patternAt(p+1) == ')':
			return m.startCapture(s, p+2, position)
		case c == '(':
			return m.startCapture(s, p+1, unfinished)
		case c == ')':
			return m.endCapture(s, p+1)
		case c == '$' && p+1 == len(m.pattern):
			if s == len(m.subject) {
				return s
			}
			return -1
		case c == '%':
			end, next, special := m.escape(s, p)
			if special {
				if end < 0 {
					return -1
				}
				s, p = end, next
				continue
			}
		}
		class := m.classEnd(p)
		m.Left -= int64((class - p) / 16)
		switch m.patternAt(class) {
		case '?':
			if m.single(s, p, class) {
				if end := m.match(s+1, class+1); end >= 0 {
					return end
				}
			}
			p = class + 1
		case '*':
			return m.longest(s, p, class)
		case '+':
			if !m.single(s, p, class) {
				return -1
			}
			return m.longest(s+1, p, class)
		case '-':
			return m.shortest(s, p, class)
		default:
			if !m.single(s, p, class) {
				return -1
			}
			s++
			p = class
		}
	}
	return s
}

// escape matches %b, %f and back references. special is false for other escapes.
func (m *Matcher) escape(s, p int) (end, next int, special bool) {
	switch c := m.patternAt(p + 1); {
	case c == 'b':
		return m.balance(s, p+2), p + 4, true
	case c == 'f':
		p += 2
		if m.patternAt(p) != '[' {
			m.Fail("missing '[' after '%f' in pattern")
		}
		class := m.classEnd(p)
		if m.Prepaid {
			m.Spend((class - p) / 16)
		}
		var before, after byte
		if s > 0 {
			before = m.subject[s-1]
		}
		if s < len(m.subject) {
			after = m.subject[s]
		}
		if m.inSet(before, p, class-1) || !m.inSet(after, p, class-1) {
			return -1, 0, true
		}
		return s, class, true
	case c >= '0' && c <= '9':
		return m.backReference(s, c), p + 2, true
	}
	return 0, 0, false
}

// longest matches as many of a class as possible before the rest.
func (m *Matcher) longest(s, p, class int) int {
	n := 0
	for m.single(s+n, p, class) {
		m.step()
		n++
	}
	for ; n >= 0; n-- {
		if end := m.match(s+n, class+1); end >= 0 {
			return end
		}
	}
	return -1
}

// shortest matches as few of a class as possible before the rest.
func (m *Matcher) shortest(s, p, class int) int {
	for {
		if end := m.match(s, class+1); end >= 0 {
			return end
		}
		if !m.single(s, p, class) {
			return -1
		}
		s++
	}
}

func (m *Matcher) startCapture(s, p, length int) int {
	if m.level >= maxCaptures {
		m.Fail("too many captures")
	}
	m.captures[m.level] = capture{s, length}
	m.level++
	end := m.match(s, p)
	if end < 0 {
		m.level--
	}
	return end
}

func (m *Matcher) endCapture(s, p int) int {
	i := m.level - 1
	for i >= 0 && m.captures[i].length != unfinished {
		i--
	}
	if i < 0 {
		m.Fail("invalid pattern capture")
	}
	m.captures[i].length = s - m.captures[i].start
	end := m.match(s, p)
	if end < 0 {
		m.captures[i].length = unfinished
	}
	return end
}

func (m *Matcher) backReference(s int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= m.level || m.captures[i].length == unfinished {
		m.Fail("invalid capture index")
	}
	c := m.captures[i]
	if c.length < 0 {
		return -1 // a position is longer than any subject
	}
	m.Left -= int64(c.length / 64)
	if bytes.HasPrefix(m.subject[s:], m.subject[c.start:c.start+c.length]) {
		return s + c.length
	}
	return -1
}

// balance matches %b with the two bytes at p.
func (m *Matcher) balance(s, p int) int {
	if p+1 >= len(m.pattern) {
		m.Fail("unbalanced pattern")
	}
	first, last := m.pattern[p], m.pattern[p+1]
	if s >= len(m.subject) || m.subject[s] != first {
		return -1
	}
	open := 1
	for s++; s < len(m.subject); s++ {
		m.step()
		switch m.subject[s] {
		case last:
			if open--; open == 0 {
				return s + 1
			}
		case first:
			open++
		}
	}
	return -1
}
