package word

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	options := []string{"PARTIAL", "SHADOW"}
	for _, tt := range []struct{ word, want string }{
		{"PARTAIL", "PARTIAL"}, {"partial", "PARTIAL"}, {"Shadw", "SHADOW"}, {"SHADOWS", "SHADOW"}, {"", ""}, {"COST", ""},
		{"P", ""}, {strings.Repeat("SHADOW", 1000), ""},
	} {
		if got := Nearest(tt.word, options); got != tt.want {
			t.Errorf("Nearest(%.20q) = %q, want %q", tt.word, got, tt.want)
		}
	}
}
