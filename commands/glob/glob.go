// Package glob matches patterns of Redis' kind.
package glob

// A Fold selects whether upper and lower case match.
type Fold bool

const (
	SameCase Fold = false // they differ
	AnyCase  Fold = true  // ASCII letters match in any case
)

// Match reports whether s matches a pattern of Redis' kind: * ? [a-z] [^a] and \
// before a literal byte. Cost: at most len(pattern) times len(s), for any pattern.
func Match(pattern, s []byte, f Fold) bool {
	p, i := 0, 0
	star, tried := -1, 0 // where to resume after the last *, in pattern and in s
	for i < len(s) {
		if p < len(pattern) && pattern[p] == '*' {
			star, tried = p+1, i
			p++
			continue
		}
		if p < len(pattern) {
			if ok, width := matchOne(pattern[p:], s[i], f); ok {
				p += width
				i++
				continue
			}
		}
		if star < 0 {
			return false
		}
		tried++
		p, i = star, tried
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches c with the first element of a pattern; width is the length of that
// element. Requires: the pattern is not empty and does not begin with *.
func matchOne(pattern []byte, c byte, f Fold) (ok bool, width int) {
	switch {
	case pattern[0] == '?':
		return true, 1
	case pattern[0] == '[':
		return matchClass(pattern, c, f)
	case pattern[0] == '\\' && len(pattern) > 1:
		return f.equal(pattern[1], c), 2
	}
	return f.equal(pattern[0], c), 1
}

// matchClass matches [...]; an unclosed class ends with the pattern.
func matchClass(pattern []byte, c byte, f Fold) (ok bool, width int) {
	i := 1
	not := i < len(pattern) && pattern[i] == '^'
	if not {
		i++
	}
	for i < len(pattern) && pattern[i] != ']' {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern):
			ok = ok || f.equal(pattern[i+1], c)
			i += 2
		case i+2 < len(pattern) && pattern[i+1] == '-':
			low, high := f.lower(pattern[i]), f.lower(pattern[i+2])
			ok = ok || min(low, high) <= f.lower(c) && f.lower(c) <= max(low, high)
			i += 3
		default:
			ok = ok || f.equal(pattern[i], c)
			i++
		}
	}
	return ok != not, min(i+1, len(pattern))
}

func (f Fold) equal(a, b byte) bool { return f.lower(a) == f.lower(b) }

func (f Fold) lower(c byte) byte {
	if f == AnyCase && c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
