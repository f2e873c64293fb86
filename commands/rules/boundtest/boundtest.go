// Package boundtest has texts of rules at each bound and beyond it, for tests of the readers
// of rules.
package boundtest

import (
	"fmt"
	"strings"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/weighing"
)

// A Bound is a bound of a text of rules.
type Bound struct {
	Name      string
	Good, Bad string // a text at the bound, and a text beyond it
	// Line is the line of the mistake in Bad, and Mistake the start of its text, with the allowed
	// and the given value.
	Line    int
	Mistake string
}

// Repeat joins n texts that format makes of their numbers.
func Repeat(n int, format, between string) string {
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

// All returns the bounds of rules, except for those that need a text of megabytes.
func All() []Bound {
	name := strings.Repeat("n", source.MaxNameBytes)
	value := strings.Repeat("v", source.MaxValueBytes)
	rule := func(format string) func(string) string {
		return func(text string) string { return "domain: d\nrules:\n  - {name: r, " + fmt.Sprintf(format, text) + "}" }
	}
	node := func(text string) string { return "domain: d\ndescriptors: [" + text + "]" }
	return []Bound{
		{"a domain", "domain: " + name, "domain: x" + name, 1, "domain must be 1 to 256 bytes long, got 'xnn"},
		{"domains", Repeat(1000, "domain: d%d", "\n---\n"), Repeat(1001, "domain: d%d", "\n---\n"), 2001,
			"at most 1000 domains are allowed, this is one more"},
		{"a key", node("{key: " + name + "}"), node("{key: x" + name + "}"), 2, "key must be 1 to 256 bytes long, got 'xnn"},
		{"a value", node("{key: k, value: " + value + "}"), node("{key: k, value: x" + value + "}"), 2,
			"value must be at most 1024 bytes long, got 'xvv"},
		{"depth", nested(16), nested(17), 2, "descriptors may be 16 levels deep, this is level 17"},
		{"limits of a node", node("{key: k, rate_limits: [" + Repeat(16, "{unit: hour, name: n%d}", ", ") + "]}"),
			node("{key: k, rate_limits: [" + Repeat(17, "{unit: hour, name: n%d}", ", ") + "]}"), 2,
			"a descriptor may have 16 limits, this is one more"},
		{"wildcards", node(Repeat(256, "{key: k, value: '%d*'}", ", ")), node(Repeat(257, "{key: k, value: '%d*'}", ", ")), 2,
			"a level of descriptors may have 256 values with *, this is one more"},
		{"limits of a rule", rule("limits: [%s]")(Repeat(16, "5/s name n%d", ", ")),
			rule("limits: [%s]")(Repeat(17, "5/s name n%d", ", ")), 3, "limits must have 1 to 16 entries, got 17"},
		{"tiers", rule("tier: t, limits: {%s}")(Repeat(256, "t%d: 5/s", ", ")),
			rule("tier: t, limits: {%s}")(Repeat(257, "t%d: 5/s", ", ")), 3, "limits must have 1 to 256 tiers, got 257"},
		{"weights", rule("limits: {count: 5, window: 1s, weights: {%s}}")(Repeat(16, "k%d: 1", ", ")),
			rule("limits: {count: 5, window: 1s, weights: {%s}}")(Repeat(17, "k%d: 1", ", ")), 3,
			"weights may have 16 amounts, got more"},
		{"the name of an amount", rule("limits: 5/s weights %s=1")(strings.Repeat("n", weighing.MaxNameBytes)),
			rule("limits: 5/s weights %s=1")(strings.Repeat("n", weighing.MaxNameBytes+1)), 3,
			"the name of an amount must be 1 to 64 letters, digits or _-./ that begin with a letter, got 'nnn"},
		{"attributes of match", rule("limits: 5/s, match: {%s}")(Repeat(32, "k%d: v", ", ")),
			rule("limits: 5/s, match: {%s}")(Repeat(33, "k%d: v", ", ")), 3, "match may have 32 entries, got 33"},
		{"values of an attribute", rule("limits: 5/s, match: {k: [%s]}")(Repeat(256, "v%d", ", ")),
			rule("limits: 5/s, match: {k: [%s]}")(Repeat(257, "v%d", ", ")), 3, "match of k may have 256 entries, got 257"},
		{"per", rule("limits: 5/s, per: [%s]")(Repeat(32, "k%d", ", ")),
			rule("limits: 5/s, per: [%s]")(Repeat(33, "k%d", ", ")), 3, "per may have 32 entries, got 33"},
		{"http", "domain: d\nhttp: {" + Repeat(32, "k%d: H", ", ") + "}",
			"domain: d\nhttp: {" + Repeat(33, "k%d: H", ", ") + "}", 2, "http may have 32 attributes, got 33"},
		{"candidates", "domain: d\nrules:\n" + Repeat(1024, "  - {name: r%d, per: [a], limits: 5/s}", "\n"),
			"domain: d\nrules:\n" + Repeat(1025, "  - {name: r%d, per: [a], limits: 5/s}", "\n"), 1027,
			"at most 1024 rules may be tried for one attribute of a request, this is one more"},
		{"words", "domain: d\nlists: {" + Repeat(1000, "l%d: {key: k}", ", ") + "}", "domain: d\nlists: {" +
			Repeat(1001, "l%d: {key: k}", ", ") + "}", 2, "a mapping may have 1000 words, this one has more"},
		{"metadata", node("{key: k, metadata: {a: [" + Repeat(998, "%d", ", ") + "]}}"),
			node("{key: k, metadata: {a: [" + Repeat(999, "%d", ", ") + "]}}"), 2, "metadata may have 1000 parts, got more"},
		{"nesting", node("{key: k, metadata: {a: " + strings.Repeat("[", 61) + strings.Repeat("]", 61) + "}}"),
			node("{key: k, metadata: {a: " + strings.Repeat("[", 62) + strings.Repeat("]", 62) + "}}"), 2,
			"the YAML may be nested 64 levels deep, this is level 65"},
		{"aliases", node("&a {key: k, metadata: {b: [1, 2, 3]}}"),
			"domain: d\nlists: {x: {key: k, values: &v [" + Repeat(200, "%d", ",") + "]}, " +
				Repeat(100, "l%d: {key: k, values: *v}", ", ") + "}", 2, "aliases may expand the text to 10 times its"},
	}
}
