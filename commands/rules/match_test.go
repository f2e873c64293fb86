package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// load compiles a text.
func load(t testing.TB, text string) *Set {
	t.Helper()
	set, err := Load([]source.File{{Name: "f", Text: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// manyNodes is a tree of n nodes below 1000 tenants.
func manyNodes(n int) string {
	var b strings.Builder
	b.WriteString("domain: api\ndescriptors:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  - key: tenant\n    value: t%d\n    descriptors:\n", i)
		for j := range n/1000 - 1 {
			fmt.Fprintf(&b, "      - {key: path, value: /p%d, rate_limit: {unit: hour, requests_per_unit: 3}}\n", j)
		}
	}
	return b.String()
}

// manyRules is a list of n rules.
func manyRules(n int) string {
	var b strings.Builder
	b.WriteString("domain: api\nrules:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {name: r%d, match: {path: /p%d, method: [GET, POST]}, per: [ip], limits: [5/m, 50/day]}\n", i, i)
	}
	return b.String()
}

// matchCases are requests of the steady state, some to sets of up to n nodes.
func matchCases(t testing.TB, n int) []struct {
	name      string
	set       *Set
	overrides *Overrides
	request   *Request
	met       int
} {
	full := load(t, `
domain: api
lists: {office: {key: ip, cidr: [192.0.2.0/24, "2001:db8::/32"]}, stolen: {key: api_key, values: [k]}}
deny: [stolen]
allow: [office]
descriptors:
  - {key: file, value: img/*.png, share_threshold: true, rate_limit: {unit: hour, requests_per_unit: 2, name: files}}
rules:
  - {name: login, match: {path: /login, method: [POST, PUT]}, per: [ip], limits: [5/m, 20/day], penalty: {after: 3, within: 10m, block: 1m}}
  - {name: search, match: {path: /search/*}, per: [tenant, user], tier: plan, limits: {default: [5/m, 6/h]}, replaces: [files]}
`)
	var overrides *Overrides
	for _, v := range []Override{
		{Path: []Attribute{{"ip", "203.0.113.9"}}, Effect: Deny},
		{Path: []Attribute{{"file", "img/b.png"}}, Effect: Replace, Limit: "5/s"},
		{Path: []Attribute{{"ip", "203.0.113.7"}}, Effect: Replace, Limit: "9/s", Rule: "login"},
	} {
		v.Domain = "api"
		made, err := NewOverride(v)
		if err != nil {
			t.Fatal(err)
		}
		overrides = overrides.With(made)
	}
	sent := parseRequest("api", "file img/a.png LIMIT 5")
	return []struct {
		name      string
		set       *Set
		overrides *Overrides
		request   *Request
		met       int
	}{
		{fmt.Sprintf("nodes=%d", n), load(t, manyNodes(n)), nil, parseRequest("api", "tenant t500 path /p0"), 1},
		{fmt.Sprintf("rules=%d", n/5), load(t, manyRules(n/5)), nil,
			parseRequest("api", "ip 203.0.113.7 path /p300 method POST"), 2},
		{"wildcard", full, nil, parseRequest("api", "file img/a.png"), 1},
		{"rule", full, nil, parseRequest("api", "ip 203.0.113.7 path /login method POST"), 2},
		{"override", full, overrides, parseRequest("api", "ip 203.0.113.7 path /login method POST"), 1},
		{"descriptors=3", full, overrides, parseRequest("api",
			"file img/a.png AND tenant t user u plan p path /search/x AND ip ::1 path /login method PUT"), 4},
		{"sent", full, overrides, sent, 1},
		{"label", load(t, "domain: api\ndescriptors: [{key: k, detailed_metric: true, rate_limit: {unit: hour}}]"), nil,
			parseRequest("api", "k v"), 1},
		{"amounts", load(t, "domain: api\nrules: [{name: r, per: [ip], limits: [5/m, 9/h weights in=2.5 out=10]}]"), nil,
			parseRequest("api", "ip 203.0.113.7:80 HITS in=3 out=4"), 2},
		{"denied", full, overrides, parseRequest("api", "ip 203.0.113.9"), 0},
		{"allowed", full, overrides, parseRequest("api", "ip 192.0.2.77"), 0},
		{"unknown domain", full, overrides, parseRequest("other", "ip 192.0.2.77"), 0},
		{"long key", full, nil, parseRequest("api", "tenant "+strings.Repeat("=", 400)+" user u plan p path /search/x"), 2},
	}
}

// TestMatchAllocates requires that a Match allocates nothing once its Result has grown.
func TestMatchAllocates(t *testing.T) {
	for _, tt := range matchCases(t, 2000) {
		var r Result
		run := func() {
			if err := tt.set.Match(tt.request, tt.overrides, 5, &r); err != nil {
				t.Fatal(err)
			}
			r.Release()
		}
		run()
		if len(r.Limits) != tt.met {
			t.Errorf("%s: %d limits, want %d", tt.name, len(r.Limits), tt.met)
		}
		if n := testing.AllocsPerRun(100, run); n != 0 {
			t.Errorf("%s: %v allocations, want 0", tt.name, n)
		}
	}
}

// TestKeysStay requires that keys stay valid until Release, also keys of earlier Matches.
func TestKeysStay(t *testing.T) {
	set := load(t, "domain: api\nrules: [{name: r, per: [a], limits: 5/m, penalty: {after: 1, within: 1s, block: 1s}}]")
	var (
		r    Result
		keys [][]byte
		want []string
	)
	for i := range 2000 {
		if err := set.Match(parseRequest("api", fmt.Sprintf("a %d", i)), nil, 0, &r); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, r.Limits[0].Key, r.Guards[0].Key)
		want = append(want, fmt.Sprintf("rule:api|r|%d#SLIDE:slide-1m", i), fmt.Sprintf("rule:api|r|%d#penalty", i))
	}
	for i := range keys {
		if string(keys[i]) != want[i] {
			t.Fatalf("key %d is %q, want %q", i, keys[i], want[i])
		}
	}
}

// TestLongKeys requires that keys stay within the bound of the engine, and that two long
// keys differ.
func TestLongKeys(t *testing.T) {
	set := load(t,
		"domain: api\nrules: [{name: r, per: [a, b], limits: [5/m, 6/h], penalty: {after: 1, within: 1s, block: 1s}}]")
	seen := map[string]string{}
	for n := range 1025 {
		for _, end := range []string{"x", "y"} {
			line := "a " + strings.Repeat("v", n) + end + " b w"
			if n == 1024 {
				line = "a " + strings.Repeat("v", n) + " b " + strings.Repeat(end, 1024)
			}
			var r Result
			if err := set.Match(parseRequest("api", line), nil, 0, &r); err != nil {
				t.Fatal(err)
			}
			for _, key := range [][]byte{r.Limits[0].Key, r.Limits[1].Key, r.Guards[0].Key} {
				if len(key) > engine.MaxKeyBytes {
					t.Fatalf("a key of %d bytes, at most %d are allowed", len(key), engine.MaxKeyBytes)
				}
				if other, had := seen[string(key)]; had {
					t.Fatalf("%q and %q share a key", other, line)
				}
				seen[string(key)] = line
			}
		}
	}
}

// TestBadRequests requires an error for each bound of a request.
func TestBadRequests(t *testing.T) {
	set := load(t, manyRules(2))
	crowd := load(t, "domain: api\nrules:\n"+crowdOf(65))
	long := strings.Repeat("x", 1025)
	for _, tt := range []struct {
		name string
		set  *Set
		q    *Request
		want string
	}{
		{"no domain", set, parseRequest("", "a b"), "domain must be 1 to 256 bytes long, got ''"},
		{"a long domain", set, parseRequest(long, "a b"), "domain must be 1 to 256 bytes long, got 'xxx"},
		{"no descriptor", set, &Request{Domain: []byte("api")}, "a request must have 1 to 64 descriptors, got 0"},
		{"65 descriptors", set, parseRequest("api", "a b"+strings.Repeat(" AND a b", 64)),
			"a request must have 1 to 64 descriptors, got 65"},
		{"33 attributes", set, parseRequest("api", strings.Repeat("a b ", 33)),
			"a descriptor may have 32 attributes, got 33"},
		{"an empty key", set, &Request{Domain: []byte("api"), Descriptors: []Descriptor{{Entries: make([]Entry, 1)}}},
			"key must be 1 to 256 bytes long, got ''"},
		{"a long key", set, parseRequest("api", long+" b"), "key must be 1 to 256 bytes long, got 'xxx"},
		{"a long value", set, parseRequest("api", "b "+long), "value of 'b' must be at most 1024 bytes long, got 'xxx"},
		{"65 limits", crowd, parseRequest("api", "a b"), "more than 64 limits apply: 65"},
	} {
		var r Result
		if err := tt.set.Match(tt.q, nil, 0, &r); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %s", tt.name, err, tt.want)
		}
	}
}

// crowdOf is n rules with a limit for every request with the attribute a.
func crowdOf(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  - {name: r%d, per: [a], limits: 5/m}\n", i)
	}
	return b.String()
}

func BenchmarkMatch(b *testing.B) {
	for _, tt := range matchCases(b, 50_000) {
		b.Run(tt.name, func(b *testing.B) {
			var r Result
			b.ReportAllocs()
			for b.Loop() {
				if err := tt.set.Match(tt.request, tt.overrides, 5, &r); err != nil {
					b.Fatal(err)
				}
				r.Release()
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, tt := range []struct{ name, text string }{{"nodes=100000", manyNodes(100_000)},
		{"rules=100000", manyRules(100_000)}} {
		b.Run(tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(tt.text)))
			b.ReportAllocs()
			for b.Loop() {
				load(b, tt.text)
			}
		})
	}
}

// BenchmarkCompare compares 100 000 rules with a changed rule.
func BenchmarkCompare(b *testing.B) {
	text := manyRules(100_000)
	from, to := load(b, text), load(b, strings.Replace(text, "5/m", "6/m", 1))
	for b.Loop() {
		if d := Compare(from, to); d.Changed != 1 {
			b.Fatalf("%d changes", d.Changed)
		}
	}
}

// BenchmarkOverride sets one of 100 000 overrides.
func BenchmarkOverride(b *testing.B) {
	var all []*Override
	for i := range 100_000 {
		v, err := NewOverride(Override{Domain: "api", Path: []Attribute{{"ip", fmt.Sprint(i)}}, Effect: Deny})
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, v)
	}
	o := (*Overrides)(nil).WithAll(all)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		o = o.With(all[i%len(all)])
	}
}

// TestCandidatesOnce requires that an attribute that is sent many times does not multiply
// the rules to try.
func TestCandidatesOnce(t *testing.T) {
	set := load(t, "domain: api\nrules:\n"+crowdOf(10))
	var r Result
	if err := set.Match(parseRequest("api", strings.Repeat("a b ", MaxEntries)), nil, 0, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.work.found) != 10 {
		t.Errorf("%d candidates, want 10", len(r.work.found))
	}
}

// TestNames requires that the names of limits, which people, overrides and metrics use,
// depend on their rule or path only.
func TestNames(t *testing.T) {
	set := load(t, `domain: other
rules: [{name: first, limits: 5/m}]
---
domain: api
rules: [{name: first, limits: 5/m}, {name: second, per: [a], limits: [5/m, 9/day]}]
descriptors: [{key: a, value: b, descriptors: [{key: c, rate_limit: {unit: hour, requests_per_unit: 1}}]}, {key: d, rate_limit: {unit: day, requests_per_unit: 1}}]`)
	var got []string
	for _, l := range set.limits {
		got = append(got, l.Name)
	}
	if want := []string{"first/slide-1m", "a=b/c", "d", "first/slide-1m", "second/slide-1m",
		"second/fixed-day"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
