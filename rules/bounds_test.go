package rules

import (
	"fmt"
	"strings"
	"testing"

	"limitsrv/rules/source"
)

// repeat joins n texts that format makes of their numbers.
func repeat(n int, format, between string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(between)
		}
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// nested is a tree of n levels.
func nested(n int) string {
	return "domain: d\ndescriptors: " + strings.Repeat("[{key: k, descriptors: ", n) + "[]" + strings.Repeat("}]", n)
}

// TestBounds requires that a set is accepted at each bound, and rejected beyond it with the
// line, the allowed and the given value.
func TestBounds(t *testing.T) {
	name := strings.Repeat("n", source.MaxNameBytes)
	value := strings.Repeat("v", source.MaxValueBytes)
	rule := func(format string) func(string) string {
		return func(text string) string { return "domain: d\nrules:\n  - {name: r, " + fmt.Sprintf(format, text) + "}" }
	}
	node := func(text string) string { return "domain: d\ndescriptors: [" + text + "]" }
	for _, tt := range []struct {
		name     string
		good     string
		bad      string
		mistakes string
	}{
		{"a domain", "domain: " + name, "domain: x" + name, "f:1: domain must be 1 to 256 bytes long, got 'xnn"},
		{"domains", repeat(1000, "domain: d%d", "\n---\n"), repeat(1001, "domain: d%d", "\n---\n"), "f:2001: at most 1000 domains are allowed, this is one more"},
		{"a key", node("{key: " + name + "}"), node("{key: x" + name + "}"), "f:2: key must be 1 to 256 bytes long, got 'xnn"},
		{"a value", node("{key: k, value: " + value + "}"), node("{key: k, value: x" + value + "}"), "f:2: value must be at most 1024 bytes long, got 'xvv"},
		{"depth", nested(16), nested(17), "f:2: descriptors may be 16 levels deep, this is level 17"},
		{"limits of a node", node("{key: k, rate_limits: [" + repeat(16, "{unit: hour, name: n%d}", ", ") + "]}"), node("{key: k, rate_limits: [" + repeat(17, "{unit: hour, name: n%d}", ", ") + "]}"), "f:2: a descriptor may have 16 limits, this is one more"},
		{"wildcards", node(repeat(256, "{key: k, value: '%d*'}", ", ")), node(repeat(257, "{key: k, value: '%d*'}", ", ")), "f:2: a level of descriptors may have 256 values with *, this is one more"},
		{"limits of a rule", rule("limits: [%s]")(repeat(16, "5/s name n%d", ", ")), rule("limits: [%s]")(repeat(17, "5/s name n%d", ", ")), "f:3: limits must have 1 to 16 entries, got 17"},
		{"tiers", rule("tier: t, limits: {%s}")(repeat(256, "t%d: 5/s", ", ")), rule("tier: t, limits: {%s}")(repeat(257, "t%d: 5/s", ", ")), "f:3: limits must have 1 to 256 tiers, got 257"},
		{"attributes of match", rule("limits: 5/s, match: {%s}")(repeat(32, "k%d: v", ", ")), rule("limits: 5/s, match: {%s}")(repeat(33, "k%d: v", ", ")), "f:3: match may have 32 entries, got 33"},
		{"values of an attribute", rule("limits: 5/s, match: {k: [%s]}")(repeat(256, "v%d", ", ")), rule("limits: 5/s, match: {k: [%s]}")(repeat(257, "v%d", ", ")), "f:3: match of k may have 256 entries, got 257"},
		{"per", rule("limits: 5/s, per: [%s]")(repeat(32, "k%d", ", ")), rule("limits: 5/s, per: [%s]")(repeat(33, "k%d", ", ")), "f:3: per may have 32 entries, got 33"},
		{"http", "domain: d\nhttp: {" + repeat(32, "k%d: H", ", ") + "}", "domain: d\nhttp: {" + repeat(33, "k%d: H", ", ") + "}", "f:2: http may have 32 attributes, got 33"},
		{"candidates", "domain: d\nrules:\n" + repeat(1024, "  - {name: r%d, per: [a], limits: 5/s}", "\n"), "domain: d\nrules:\n" + repeat(1025, "  - {name: r%d, per: [a], limits: 5/s}", "\n"), "f:1027: at most 1024 rules may be tried for one attribute of a request, this is one more"},
		{"words", "domain: d\nlists: {" + repeat(1000, "l%d: {key: k}", ", ") + "}", "domain: d\nlists: {" + repeat(1001, "l%d: {key: k}", ", ") + "}", "f:2: a mapping may have 1000 words, this one has more"},
		{"metadata", node("{key: k, metadata: {a: [" + repeat(998, "%d", ", ") + "]}}"), node("{key: k, metadata: {a: [" + repeat(999, "%d", ", ") + "]}}"), "f:2: metadata may have 1000 parts, got more"},
		{"nesting", node("{key: k, metadata: {a: " + strings.Repeat("[", 61) + strings.Repeat("]", 61) + "}}"), node("{key: k, metadata: {a: " + strings.Repeat("[", 62) + strings.Repeat("]", 62) + "}}"), "f:2: the YAML may be nested 64 levels deep, this is level 65"},
		{"aliases", node("&a {key: k, metadata: {b: [1, 2, 3]}}"), "domain: d\nlists: {x: {key: k, values: &v [" + repeat(200, "%d", ",") + "]}, " + repeat(100, "l%d: {key: k, values: *v}", ", ") + "}", "f:2: aliases may expand the text to 10 times its"},
	} {
		if _, err := Load([]source.File{{Name: "f", Text: []byte(tt.good)}}); err != nil {
			t.Errorf("%s: at the bound: %v", tt.name, err)
		}
		if _, err := Load([]source.File{{Name: "f", Text: []byte(tt.bad)}}); err == nil || !strings.HasPrefix(err.Error(), tt.mistakes) {
			t.Errorf("%s: beyond the bound:\n got %v\nwant %s", tt.name, err, tt.mistakes)
		}
	}
}

// TestGreatBounds is TestBounds for those that need a long text.
func TestGreatBounds(t *testing.T) {
	list := func(n int) string {
		return "domain: d\nlists:\n  l:\n    key: k\n    values: [" + repeat(n, "%d", ",") + "]\ndeny: l"
	}
	for _, tt := range []struct{ name, text, mistake string }{
		{"entries of lists", list(source.MaxListed), ""},
		{"too many entries of lists", list(source.MaxListed + 1), "f:5: all lists may have 100000 entries together, with this one they have 100001"},
		{"too many rules", "domain: d\ndescriptors: [" + repeat(source.MaxRules+1, "{key: k%d}", ",") + "]", "f:2: all domains may have 100000 descriptors and rules together, this is one more"},
		{"too long a text", strings.Repeat("#", source.MaxBytes+1), "f:1: the text of all files may have 16777216 bytes, with this file it has 16777217"},
		{"too many parts", strings.Repeat("a:\n", source.MaxParts/2+1), "f:1: the text of all files may have 2500000 line ends and characters of ,:[{-?, with this file it has 2500002"},
	} {
		_, err := Load([]source.File{{Name: "f", Text: []byte(tt.text)}})
		if tt.mistake == "" && err != nil || tt.mistake != "" && (err == nil || err.Error() != tt.mistake) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.mistake)
		}
	}
}
