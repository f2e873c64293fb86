package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/boundtest"
	"limitsrv/commands/rules/source"
)

// TestBounds requires that a set is accepted at each bound, and rejected beyond it with the
// line, the allowed and the given value.
func TestBounds(t *testing.T) {
	for _, b := range boundtest.All() {
		if _, err := rules.Load([]source.File{{Name: "f", Text: []byte(b.Good)}}); err != nil {
			t.Errorf("%s: at the bound: %v", b.Name, err)
		}
		want := fmt.Sprintf("f:%d: %s", b.Line, b.Mistake)
		if _, err := rules.Load([]source.File{{Name: "f", Text: []byte(b.Bad)}}); err == nil ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: beyond the bound:\n got %v\nwant %s", b.Name, err, want)
		}
	}
}

// TestGreatBounds is TestBounds for those that need a long text.
func TestGreatBounds(t *testing.T) {
	list := func(n int) string {
		return "domain: d\nlists:\n  l:\n    key: k\n    values: [" + boundtest.Repeat(n, "%d", ",") + "]\ndeny: l"
	}
	for _, tt := range []struct{ name, text, mistake string }{
		{"entries of lists", list(source.MaxListed), ""},
		{"too many entries of lists", list(source.MaxListed + 1),
			"f:5: all lists may have 100000 entries together, with this one they have 100001"},
		{"too many rules", "domain: d\ndescriptors: [" + boundtest.Repeat(source.MaxRules+1, "{key: k%d}", ",") + "]",
			"f:2: all domains may have 100000 descriptors and rules together, this is one more"},
		{"too long a text", strings.Repeat("#", source.MaxBytes+1),
			"f:1: the text of all files may have 16777216 bytes, with this file it has 16777217"},
		{"too many parts", strings.Repeat("a:\n", source.MaxParts/2+1),
			"f:1: the text of all files may have 2500000 line ends and characters of ,:[{-?, with this file it has 2500002"},
	} {
		_, err := rules.Load([]source.File{{Name: "f", Text: []byte(tt.text)}})
		if tt.mistake == "" && err != nil || tt.mistake != "" && (err == nil || err.Error() != tt.mistake) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.mistake)
		}
	}
}
