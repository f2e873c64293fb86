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

// TestDidYouMean: a word that is a choice itself has no suggestion.
func TestDidYouMean(t *testing.T) {
	for given, want := range map[string]string{"PARTAL": "; did you mean PARTIAL?", "partial": "; did you mean PARTIAL?",
		"PARTIAL": "", "x": ""} {
		if got := DidYouMean([]byte(given), "PARTIAL"); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", given, got, want)
		}
	}
}
