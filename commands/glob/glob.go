// Package glob matches patterns of Redis' syntax: * ? [a-z] [^a] and \ before a literal byte.
package glob

// A Fold selects whether upper and lower case match.
type Fold bool

const (
	SameCase Fold = false // they differ
	AnyCase  Fold = true  // ASCII letters match in any case
)

// MaxBytes is the maximum length, in bytes, of a pattern that a client may send.
const MaxBytes = 1024

// A Pattern is a compiled pattern. Concurrency: any goroutine may use it.
type Pattern struct {
	elements []element
	classes  []class
	segments []segment // the parts between stars; never empty
	least    int       // minimum length of a matching text, in bytes
	all      bool      // the pattern is *
	fold     Fold
}

// An element matches a byte.
type element struct {
	form  form
	c     byte   // the literal byte; in lower case with AnyCase
	class uint32 // index into Pattern.classes
}

type form uint8

const (
	literal form = iota
	anyByte
	inClass
)

// A class is a set of bytes.
type class [4]uint64

func (s *class) add(c byte) { s[c>>6] |= 1 << (c & 63) }

func (s *class) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

// A segment is a run of elements without a star between them: elements[from:to].
type segment struct {
	from, to int
	text     []byte // the literal bytes; nil unless all elements are literals and case matters
}

// Compile parses a pattern. Every text is a valid pattern. Cost: linear in its length.
func Compile(pattern []byte, f Fold) *Pattern {
	p := &Pattern{fold: f, all: string(pattern) == "*", elements: make([]element, 0, len(pattern))}
	from := 0
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; {
		case c == '*':
			if at := len(p.elements); at > from || len(p.segments) == 0 {
				p.addSegment(from, at)
				from = at
			}
			i++
		case c == '?':
			p.elements = append(p.elements, element{form: anyByte})
			i++
		case c == '[':
			i = p.addClass(pattern, i+1)
		default:
			if c == '\\' && i+1 < len(pattern) {
				i++
			}
			p.elements = append(p.elements, element{c: f.lower(pattern[i])})
			i++
		}
	}
	p.least = len(p.elements)
	p.addSegment(from, p.least)
	return p
}

// addSegment adds the segment elements[from:to].
func (p *Pattern) addSegment(from, to int) {
	s := segment{from: from, to: to}
	text := make([]byte, 0, to-from)
	for _, e := range p.elements[from:to] {
		if e.form == literal && p.fold == SameCase {
			text = append(text, e.c)
		}
	}
	if len(text) == to-from && p.fold == SameCase {
		s.text = text
	}
	p.segments = append(p.segments, s)
}

// addClass parses the class with its first byte at index i, and returns the index after the class.
// A class without ] extends to the end of the pattern. As in Redis, a byte after \ matches in its
// own case only, and the bounds of a range are ordered before their case is folded.
func (p *Pattern) addClass(pattern []byte, i int) int {
	var set class
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			set.add(pattern[i+1])
			i += 2
		case i+2 < len(pattern) && pattern[i+1] == '-':
			low, high := min(pattern[i], pattern[i+2]), max(pattern[i], pattern[i+2])
			set.addRange(p.fold.lower(low), p.fold.lower(high), p.fold)
			i += 3
		default:
			c := p.fold.lower(pattern[i])
			set.addRange(c, c, p.fold)
			i++
		}
	}
	if not {
		for j := range set {
			set[j] = ^set[j]
		}
	}
	p.elements = append(p.elements, element{form: inClass, class: uint32(len(p.classes))})
	p.classes = append(p.classes, set)
	return min(i+1, len(pattern))
}

// addRange adds each byte that f maps into the range from low to high.
func (s *class) addRange(low, high byte, f Fold) {
	for c := int(low); c <= int(high); c++ {
		if f.lower(byte(c)) == byte(c) {
			s.add(byte(c))
		}
		if upper := c - 'a' + 'A'; f == AnyCase && c >= 'a' && c <= 'z' {
			s.add(byte(upper))
		}
	}
}

// Stars reports whether the pattern is empty or consists of stars only.
func (p *Pattern) Stars() bool { return len(p.elements) == 0 }

// Work returns an upper bound of the steps of a Match with a text of n bytes.
func (p *Pattern) Work(n int) int {
	words := 1
	for i := range p.segments {
		words = max(words, p.segments[i].words())
	}
	return n*words + p.least
}

// Match reports whether s matches. As in Redis, an empty text matches only the empty pattern and *.
// Cost: see Work.
func (p *Pattern) Match(s []byte) bool {
	m := Matcher{Pattern: p}
	return m.Match(s)
}

func (s *segment) len() int { return s.to - s.from }

// matchAt reports whether a segment matches the start of s. Requires: s is at least as long as g.
func (p *Pattern) matchAt(g *segment, s []byte) bool {
	for i, e := range p.elements[g.from:g.to] {
		if !p.matches(e, s[i]) {
			return false
		}
	}
	return true
}

func (p *Pattern) matches(e element, c byte) bool {
	switch e.form {
	case literal:
		return e.c == p.fold.lower(c)
	case inClass:
		return p.classes[e.class].has(c)
	}
	return true
}

func (f Fold) lower(c byte) byte {
	if f == AnyCase && c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
