package rules

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"limitsrv/commands/rules/source"
)

// Any text is compiled, or rejected with mistakes of a line each that begin with the file.
// A set that compiles has valid parameters, matches any request, and does not differ from
// itself.
func FuzzLoad(f *testing.F) {
	text, err := os.ReadFile("testdata/api.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text), "ip", "192.0.2.1")
	f.Add("domain: d\ndescriptors:\n  - {key: a, value: x*y, share_threshold: on, rate_limit: {unit: hour, "+
		"requests_per_unit: 010}}\n", "a", "xy")
	f.Add("domain: d\nx: &a {key: a, rate_limit: {unlimited: true}}\ndescriptors: [{<<: *a, descriptors: "+
		"[*a]}]\n---\ndomain: e\n", "a", "")
	f.Add("domain: d\nrules: [{name: r, per: [a], limits: [5 at once ttl 1s, 10/s token burst 20 grace 3 warn_at 50]}]\n",
		"a", "\x00")
	f.Add("domain: d\nrules: [{name: r, per: [a], limits: [{count: 5, window: month, weights: {in: 2.50, out: 0.001}}, "+
		"5/m weights in=1]}]\n", "a", "b")
	f.Add("a: &a [*a]", "a", "a")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		if len(text) > 1<<14 || len(key) == 0 || len(key) > MaxKeyBytes || len(value) > MaxValueBytes {
			return
		}
		set, err := Load([]source.File{{Name: "f", Text: []byte(text)}})
		if docs, wrong := source.Parse([]source.File{{Name: "f", Text: []byte(text)}}); wrong == nil {
			whole, wrong := source.Parse([]source.File{{Name: "f", Text: []byte(text + "\n...\n")}}) // not plain YAML
			if wrong != nil || !reflect.DeepEqual(docs, whole) {
				t.Fatalf("documents %+v, and in any YAML %+v, %v", docs, whole, wrong)
			}
		}
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "f:") {
					t.Fatalf("mistake %q", line)
				}
			}
			return
		}
		for l := range set.Limits("", 0) {
			if p := l.Params; !l.unlimited && (p.Check() != nil || !p.IsReduced()) {
				t.Fatalf("%s has parameters %+v: %v", l.Name, p, p.Check())
			}
		}
		if d := Compare(set, set); len(d.Changes) > 0 {
			t.Fatalf("changes from a set to itself: %+v", d.Changes)
		}
		var r Result
		for _, d := range set.Domains() {
			q := &Request{Domain: []byte(d.Name),
				Descriptors: []Descriptor{{Entries: []Entry{{[]byte(key), []byte(value)}, {[]byte(value + "a"), []byte(key)}}}}}
			if len(value) >= MaxKeyBytes {
				q.Descriptors[0].Entries = q.Descriptors[0].Entries[:1]
			}
			switch err := set.Match(q, nil, 0, &r); {
			case err == nil:
				r.Explain(q)
			case !strings.Contains(err.Error(), "limits apply"):
				t.Fatal(err)
			}
		}
	})
}
