package rules

import (
	"bytes"
	"strings"
)

// A pattern is a value, split at each *. A * stands for any number of any bytes.
type pattern struct {
	parts []string // the literal parts: their number is the number of * plus 1
	fixed int      // their bytes
}

func isPattern(text string) bool { return strings.Contains(text, "*") }

func makePattern(text string) pattern {
	p := pattern{parts: strings.Split(text, "*")}
	for _, part := range p.parts {
		p.fixed += len(part)
	}
	return p
}

// matches reports whether a value matches the pattern. Each part takes its first place,
// which leaves most to the next. Cost: O(bytes) for each part.
func (p *pattern) matches(value []byte) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	switch {
	case len(p.parts) == 1:
		return string(value) == first
	case len(value) < p.fixed || string(value[:len(first)]) != first || string(value[len(value)-len(last):]) != last:
		return false
	}
	rest := value[len(first) : len(value)-len(last)]
	for _, part := range p.parts[1 : len(p.parts)-1] {
		at := indexOf(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	return true
}

// indexOf is bytes.Index for a string, without a copy.
func indexOf(text []byte, part string) int {
	if part == "" {
		return 0
	}
	for at := 0; ; at++ {
		next := bytes.IndexByte(text[at:], part[0])
		if at += next; next < 0 || len(text)-at < len(part) {
			return -1
		}
		if string(text[at:at+len(part)]) == part {
			return at
		}
	}
}
