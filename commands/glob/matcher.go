package glob

import "bytes"

// A Matcher matches many texts with the same pattern. It keeps the tables that it needs for long
// texts. Concurrency: one goroutine.
type Matcher struct {
	*Pattern
	masks [][]uint64 // one table for each segment, see searchLong
	state []uint64
}

// NewMatcher compiles a pattern.
func NewMatcher(pattern []byte, f Fold) *Matcher { return &Matcher{Pattern: Compile(pattern, f)} }

// Match is Pattern.Match.
func (m *Matcher) Match(s []byte) bool {
	p := m.Pattern
	if p.all || len(s) == 0 {
		return p.all || len(p.elements) == 0 && len(p.segments) == 1
	}
	first, last := &p.segments[0], &p.segments[len(p.segments)-1]
	if len(p.segments) == 1 {
		return len(s) == p.least && p.matchAt(first, s)
	}
	if len(s) < p.least || !p.matchAt(first, s) {
		return false
	}
	end := len(s) - last.len()
	if !p.matchAt(last, s[end:]) {
		return false
	}
	s = s[first.len():end]
	// The leftmost match of a segment leaves the longest text for the later segments.
	for i := 1; i < len(p.segments)-1; i++ {
		at := m.search(i, s)
		if at < 0 {
			return false
		}
		s = s[at+p.segments[i].len():]
	}
	return true
}

// words returns the number of uint64 words that have one bit for each element of the segment.
func (s *segment) words() int { return (s.len() + 63) / 64 }

// maxTries bounds the comparisons of a search that tries every offset. Above it, searchLong is
// used.
const maxTries = 4 << 10

// search returns the first offset in s where segment i matches, or -1.
func (m *Matcher) search(i int, s []byte) int {
	g := &m.segments[i]
	switch n := g.len(); {
	case n > len(s):
		return -1
	case g.text != nil:
		return bytes.Index(s, g.text)
	case n*(len(s)-n+1) > maxTries:
		return m.searchLong(i, s)
	default:
		for at := 0; at+n <= len(s); at++ {
			if m.matchAt(g, s[at:]) {
				return at
			}
		}
	}
	return -1
}

// searchLong is search for long texts: it visits each byte of the text once.
//
// Source: R. Baeza-Yates and G. Gonnet, "A new approach to text searching", 1992. Bit n of the
// state is set if elements 0 to n of the segment match the bytes before the current offset.
func (m *Matcher) searchLong(i int, s []byte) int {
	g := &m.segments[i]
	n, words := g.len(), g.words()
	if m.masks == nil {
		m.masks = make([][]uint64, len(m.segments))
	}
	if m.masks[i] == nil {
		m.masks[i] = m.masksOf(g)
	}
	if cap(m.state) < words {
		m.state = make([]uint64, words)
	}
	masks, state := m.masks[i], m.state[:words]
	clear(state)
	top := uint64(1) << ((n - 1) % 64)
	for at, c := range s {
		carry := uint64(1)
		mask := masks[int(c)*words : (int(c)+1)*words]
		for j, w := range state {
			state[j] = (w<<1 | carry) & mask[j]
			carry = w >> 63
		}
		if state[words-1]&top != 0 {
			return at + 1 - n
		}
	}
	return -1
}

// masksOf returns, for each byte, a bit mask of the elements of the segment that match it.
func (p *Pattern) masksOf(g *segment) []uint64 {
	words := g.words()
	masks := make([]uint64, 256*words)
	for i, e := range p.elements[g.from:g.to] {
		word, bit := i/64, uint64(1)<<(i%64)
		for c := range 256 {
			if p.matches(e, byte(c)) {
				masks[c*words+word] |= bit
			}
		}
	}
	return masks
}
