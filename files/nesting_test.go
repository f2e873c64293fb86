package files

import (
	"strings"
	"testing"
)

func TestNestedTooDeep(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       int
	}{
		{"an empty text", "", 0},
		{"the most brackets allowed", "a: " + strings.Repeat("[", maxNesting), 0},
		{"one bracket more", "\na: " + strings.Repeat("[", maxNesting+1), 2},
		{"closed brackets", strings.Repeat("[{}]\n", 10*maxNesting), 0},
		{"dashes in a line", strings.Repeat("- ", maxNesting+1), 1},
		{"dashes below each other", strings.Repeat("-\r\n", maxNesting+1), 2*maxNesting + 1},
		{"dashes with comments between", strings.Repeat("- # a-b\n\n", maxNesting+1), 2*maxNesting + 1},
		{"question marks", strings.Repeat("? ", maxNesting+1), 1},
		{"a list", strings.Repeat("- a\n", 10*maxNesting), 0},
		{"dashes in a text", "a: " + strings.Repeat("-", 10*maxNesting), 0},
	} {
		if got := NestedTooDeep([]byte(tt.text)); got != tt.want {
			t.Errorf("%s: line %d, want %d", tt.name, got, tt.want)
		}
	}
}
