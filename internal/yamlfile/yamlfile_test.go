package yamlfile

import (
	"errors"
	"fmt"
	"testing"
)

// read returns the lines of the roots of a text, and the error.
func read(text string) (lines []int, wrong *SyntaxError) {
	for root, err := range Roots([]byte(text)) {
		if errors.As(err, &wrong) {
			break
		}
		lines = append(lines, root.Line)
	}
	return lines, wrong
}

func TestRoots(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "[]"},
		{"a comment", "# a\n", "[]"},
		{"one document", "a: b\n", "[1]"},
		{"an empty one behind it", "\na: b\n---\n", "[2]"},
		{"two documents", "a: b\n---\n- c\n", "[1 3]"},
		{"the word null", "null\n", "[1]"},
	} {
		if lines, wrong := read(tt.text); fmt.Sprint(lines) != tt.want || wrong != nil {
			t.Errorf("%s: %v, %v, want %s", tt.name, lines, wrong, tt.want)
		}
	}
}

// The line of an error is the line of the wrong part, or of its start.
func TestSyntaxErrors(t *testing.T) {
	for _, tt := range []struct {
		name, text, unquoted string
		line                 int
	}{
		{"an open bracket", "a: 1\nb: [1\n", "did not find expected ',' or ']'", 2},
		{"an open brace in the first line", "{a: 1\n", "did not find expected ',' or '}'", 2},
		{"a word that is too far left", "a: 1\nb:\n  - c: 1\n d: 1\n", "did not find expected key", 4},
		{"a word in a list", "a: 1\nb:\n  - c\n  d: 1\n", "did not find expected '-' indicator", 3},
		{"two colons", "a: 1\nb: c: d\n", "mapping values are not allowed in this context", 2},
		{"a tab", "a: 1\n\tb: 2\n", "found a tab character that violates indentation", 2},
		{"a star", "a: 1\nb: *\n", "did not find expected alphabetic or numeric character", 2},
		{"an alias of nothing", "a: 1\nb: *hunter2\n", "unknown anchor referenced", 2},
		{"open quotes", "a: 1\nb: \"c\n", "found unexpected end of stream", 2},
	} {
		_, wrong := read(tt.text)
		if wrong == nil || wrong.Unquoted() != tt.unquoted || wrong.Line != tt.line {
			t.Errorf("%s: %v, want line %d: %s", tt.name, wrong, tt.line, tt.unquoted)
		}
	}
}
