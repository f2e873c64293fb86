package source_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"limitsrv/commands/rules/boundtest"
	"limitsrv/commands/rules/source"
	"limitsrv/internal/testing/testwait"
)

// inAnyYAML makes a text that is not plain YAML: it is the mark of the end of a document,
// without a meaning at the end of the text.
const inAnyYAML = "\n...\n"

// sameParsed requires that a text is read alike in plain YAML and in any YAML, and reports
// whether it has no mistake.
func sameParsed(t *testing.T, text string) bool {
	t.Helper()
	parse := func(text string) ([]source.Document, error) {
		return source.Parse([]source.File{{Name: "f", Text: []byte(text)}})
	}
	plain, err := parse(text)
	whole, wrong := parse(text + inAnyYAML)
	if (err == nil) != (wrong == nil) || !reflect.DeepEqual(plain, whole) {
		t.Errorf("text %q:\nplain %+v, %v\nwhole %+v, %v", text, plain, err, whole, wrong)
	}
	if err != nil && !strings.Contains(wrong.Error(), "the YAML can't be read") && err.Error() != wrong.Error() {
		t.Errorf("text %q: %v, and %v", text, err, wrong)
	}
	return err == nil
}

// TestFormOfLimits requires docs/rules.md to have the form of a limit that errors name.
func TestFormOfLimits(t *testing.T) {
	page, err := os.ReadFile("../../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	_, wrong := source.ParseLimit("")
	_, form, _ := strings.Cut(wrong.Error(), "a limit must be ")
	form, _, _ = strings.Cut(form, ", N at once")
	if !strings.Contains(string(page), "\n`"+form+"`, ") {
		t.Errorf("docs/rules.md does not have the form of a limit, `%s`", form)
	}
}

func TestPlainLikeWhole(t *testing.T) {
	text, err := os.ReadFile("../testdata/api.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !sameParsed(t, string(text)) {
		t.Error("api.yaml has mistakes")
	}
	for _, b := range boundtest.All() {
		sameParsed(t, b.Good)
		sameParsed(t, b.Bad)
	}
	for _, text := range []string{
		"domain: a\nrules:\n  - {name: r, limits: 1/s}\n---\ndomain: b\ndescriptors:\n- key: k\n  unit: day\n  " +
			"rate_limits:\n  - unit: hour\n---\n",
		"domain: a\nrules:\n  - {name: r, limits: 1/s}\nrules:\n  - {name: r, limits: 1/s}\n",
		"domain: a\nruels:\n  - {name: r, limits: 1/s}\n",
		"domain: a\nvalue:\n  - {key: a}\n",
		"domain: a\nrules:\n  - {name: r, limits: 1/s}\n  - {name: r, limits: 1/s\n",
		"rules:\n  - {name: r, limits: x}\n  - {name: s, limits: y}\ndomain: a\n",
		"domain: a\nrules:\n  - {name: r, limits: 1/s}\nb: &x c\n",
		"domain: a\nrules: 5\n---\n- a\n", "", "---\n", "merge_domains: yes\n",
	} {
		sameParsed(t, text)
	}
}

// TestRandomPlainLikeWhole compares random rules, some with a mistake.
func TestRandomPlainLikeWhole(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	valid := 0
	const texts = 300
	for range texts {
		var b strings.Builder
		b.WriteString("domain: " + pick("a", "api", "1", "\"x y\"") + pick("", " # c") + "\n")
		indent := pick("", "  ", "    ")
		b.WriteString(pick("rules:\n", "# c\nrules: # d\n\n"))
		for i := range 1 + r.IntN(5) {
			limits := pick("5/m", "[5/m, 50/day]", "[10/s token burst 20, 3 at once ttl 1s]", "{count: 010, window: 1h}", "none",
				"'5/m slide name x'", "unlimited", "5/m weights in=1 out=2.5", "{count: 5, window: 1h, weights: {in: 2.50}}",
				"5/moon", "[]")
			if r.IntN(2) == 0 {
				fmt.Fprintf(&b, "%s- {name: r%d, match: {path: /p%d, method: [GET, 'POST']}, per: [ip], limits: %s}%s\n", indent, i,
					i, limits, pick("", " # c"))
				continue
			}
			fmt.Fprintf(&b, "%s- name: r%d\n%s  match:\n%s    path: %s\n", indent, i, indent, indent,
				pick("/a*", "'*'", "10", "yes", "1.5", "~", "\"\""))
			fmt.Fprintf(&b, "%s  per:\n%s  - ip\n%s  limits: %s\n%s", indent, indent, indent, limits,
				pick("", indent+"  shadow: on\n", indent+"  metadata: {a: [1, 0x1F, {b: ~}], c: yes}\n",
					indent+"  penalty: {after: 3, within: 1m, block: 1m}\n"))
		}
		b.WriteString(pick("", "descriptors:\n  - key: k\n    value: 010\n    rate_limit: {unit: hour, requests_per_unit: "+
			"0x1F}\n    descriptors:\n    - {key: l, shadow_mode: on}\n", "unmatched: deny\n", "---\ndomain: z\n"))
		if sameParsed(t, b.String()) {
			valid++
		}
	}
	if valid < texts/10 {
		t.Errorf("%d of %d texts are valid", valid, texts)
	}
}
