package rules

import (
	"slices"
	"strings"
	"testing"
)

// TestCounters: the counters and boxes of some attributes are the counters and boxes of every
// request with them, if a rule counts by no other attribute.
func TestCounters(t *testing.T) {
	set := load(t, `domain: api
rules:
  - {name: login, match: {path: /login}, per: [ip/64], limits: [5/minute, 20/day], penalty: {after: 3, within: 10m, block: 1m}}
  - {name: both, per: [ip, user], limits: 9/m}
  - {name: tier, per: [user], tier: plan, limits: {free: [1/m, 2/h], pro: 5/m token, default: free}}
  - {name: all, match: {path: [/login, /x]}, limits: 9/m}
  - {name: every, limits: 99/m}
descriptors: [{key: user, rate_limit: {unit: hour, requests_per_unit: 3}, descriptors: [{key: path, rate_limit: {unit: hour, requests_per_unit: 3}}]}]
`)
	override, err := NewOverride(Override{Domain: "api", Path: []Attribute{{"user", "9"}}, Effect: Replace, Limit: "8/m",
		Rule: "tier"})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"ip 1.2.3.4": "rule:api|login|1.2.3.4#SLIDE:slide-1m rule:api|login|1.2.3.4#FIXED:fixed-day " +
			"rule:api|login|1.2.3.4#penalty",
		"ip 2001:DB8::7": "rule:api|login|2001:db8::/64#SLIDE:slide-1m " +
			"rule:api|login|2001:db8::/64#FIXED:fixed-day rule:api|login|2001:db8::/64#penalty",
		"ip 1.2.3.4 path /other": "",
		"user 7": "rule:api|user=7#FIXED rule:api|tier|7#SLIDE:slide-1m rule:api|tier|7#SLIDE:slide-1h " +
			"rule:api|tier|7#TOKEN:token-1m",
		"user 9": "rule:api|user=9#FIXED rule:api|tier|9#SLIDE:slide-1m rule:api|tier|9#SLIDE:token-1m",
		"user 7 path /x": "rule:api|user=7|path=/x#FIXED rule:api|tier|7#SLIDE:slide-1m " +
			"rule:api|tier|7#SLIDE:slide-1h rule:api|tier|7#TOKEN:token-1m",
		"path /x": "rule:api|all#SLIDE:slide-1m",
		"ip 1.2.3.4 user 7 path /y": "rule:api|both|1.2.3.4|7#SLIDE:slide-1m rule:api|tier|7#SLIDE:slide-1m " +
			"rule:api|tier|7#SLIDE:slide-1h rule:api|tier|7#TOKEN:token-1m",
	} {
		words := strings.Fields(line)
		q := &Request{Domain: []byte("api"), Descriptors: make([]Descriptor, 1)}
		for i := 0; i < len(words); i += 2 {
			q.Descriptors[0].Entries = append(q.Descriptors[0].Entries, Entry{[]byte(words[i]), []byte(words[i+1])})
		}
		var r Result
		if err := set.Counters(q, new(Overrides).With(override), 0, &r); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range r.Limits {
			got = append(got, string(r.Limits[i].Key))
		}
		for i := range r.Guards {
			got = append(got, string(r.Guards[i].Key))
		}
		wanted := strings.Fields(want)
		slices.Sort(wanted)
		if slices.Sort(got); !slices.Equal(got, wanted) {
			t.Errorf("%s has the counters\n%s, want\n%s", line, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
		}
	}
	var r Result
	if err := set.Counters(&Request{Domain: []byte("apo"), Descriptors: make([]Descriptor, 1)}, nil, 0, &r); err == nil ||
		!strings.Contains(err.Error(), "did you mean api") {
		t.Errorf("an unknown domain has the error %v", err)
	}
}
