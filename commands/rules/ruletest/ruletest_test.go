package ruletest

import (
	"testing"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
)

const limits = `
domain: api
rules:
  - {name: login, match: {path: /login}, per: [ip], limits: [1/minute, 20/day]}
  - {name: jobs, match: {path: /jobs}, limits: 1 at once ttl 30s}
`

// FuzzRun reads and runs any text of cases. A mistake or a difference must have a line of
// the text.
func FuzzRun(f *testing.F) {
	f.Add("start: 2026-11-22T02:39:14.856Z\nsteps:\n- {at: 0s, ask: {domain: api, ip: 203.0.113.7, path: /login}, " +
		"times: 2, expect: {allowed: [1, 0], rule: login/slide-1m}}")
	f.Add("start: 2000-01-01T00:00:00Z\nsteps: [{ask: [{domain: api, path: [/login, /jobs]}, {ip: a}], id: a, hits: 2, " +
		"peek: true, expect: {limit: 1}}]\n---\nstart: 1")
	f.Add("start: 2199-12-31T00:00:00Z\nsteps: [{at: 3650d, domain: api, ask: {<<: &a {path: /jobs}, domain: *a}, by: " +
		"-1}]")
	f.Add("start: 2100-01-01T00:00:00Z\nsteps: [{override: {domain: api, path: {ip: a}, effect: deny, ttl: 5s}}, " +
		"{override: {domain: api, limit: 1/s, rule: x}, expect: {error: a}}, {ask: {domain: api, path: /jobs}, expect: " +
		"{error: id}}]")
	f.Add("start: 2100-01-01T00:00:00Z\nsteps: [{ask: {domain: api, ip: a, path: /login}, hits: 1, " +
		"reserve: {id: r, ttl: 5s, keep: all, partial: true}}, {extend: {id: r, ttl: 1s, by: 3}}, " +
		"{commit: {id: r, actual: [2, 3]}, times: 2}, {cancel: {id: r}}]")
	set, err := rules.Load([]source.File{{Name: "rules.yaml", Text: []byte(limits)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := 1
		for _, c := range text {
			if c == '\n' || c == '\r' || c == '\u0085' || c == '\u2028' || c == '\u2029' {
				lines++
			}
		}
		scenarios, err := source.ParseCases(source.File{Name: "cases.yaml", Text: []byte(text)})
		if err != nil {
			for _, m := range err.(source.Mistakes) {
				if m.Line < 1 || m.Line > lines+1 {
					t.Errorf("%v: the text has %d lines", m, lines)
				}
			}
			return
		}
		requests, overrides := 0, 0
		for _, s := range scenarios {
			for _, step := range s.Steps {
				if step.Override == nil {
					requests += step.Times
				} else {
					overrides++
				}
			}
		}
		if requests > 1000 {
			return
		}
		r := Run(set, scenarios)
		if r.Requests != requests || r.Different < len(r.Differences) || r.Different > r.Values+requests+overrides {
			t.Errorf("%d requests, want %d; %d differences, %d of them reported, of %d values", r.Requests, requests,
				r.Different, len(r.Differences), r.Values)
		}
		for _, d := range r.Differences {
			if d.Line < 1 || d.Line > lines {
				t.Errorf("%v: the text has %d lines", d, lines)
			}
		}
	})
}

// TestRunReportsEachChange expects the same value of ten answers: each change of the
// answers is a difference, and equal answers in a row are a single difference.
func TestRunReportsEachChange(t *testing.T) {
	set, err := rules.Load([]source.File{{Name: "rules.yaml",
		Text: []byte("domain: api\nrules: [{name: a, match: {k: a}, limits: 3/day}]")}})
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := source.ParseCases(source.File{Name: "c", Text: []byte("start: 2026-11-22T00:00:00Z\nsteps:\n" +
		"- {ask: {domain: api, k: a}, times: 10, expect: {rule: a/fixed-day,\n remaining: 1}}\n" +
		"- {ask: {domain: api, k: b}, times: 10, expect: {rule: a/fixed-day}}")})
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, d := range Run(set, scenarios).Differences {
		got += d.Error() + "\n"
	}
	want := "c:4: remaining: got 2, want 1 (request 1 of 10)\n" +
		"c:4: remaining: got 0, want 1 (request 3 of 10)\n" +
		"c:5: rule: got \"\", want \"a/fixed-day\" (request 1 of 10)\n"
	if got != want {
		t.Errorf("differences:\n%swant:\n%s", got, want)
	}
}

// TestOverridesAndErrors sets overrides, also for a time, and expects errors.
func TestOverridesAndErrors(t *testing.T) {
	set, err := rules.Load([]source.File{{Name: "rules.yaml", Text: []byte(limits)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, steps, want string }{
		{"all as expected", `
- {override: {domain: api, path: {ip: a}, effect: deny, ttl: 60s}}
- {ask: &a {domain: api, ip: a, path: /login}, expect: {reason: denied}}
- {at: 60s, ask: *a, expect: {reason: near}}
- {override: {domain: api, path: {ip: a}, rule: login/slide-1m, limit: 5/minute}}
- {ask: *a, expect: {remaining: 3}}
- {override: {domain: api, path: {ip: a}, rule: login/slide-1m, effect: drop}}
- {ask: *a, expect: {reason: limited}}
- {override: {domain: api, effect: allow}}
- {ask: *a, expect: {reason: allowed}}
- {override: {domain: api, effect: drop}}
- {ask: {domain: api, path: /jobs}, times: 2, expect: {error: ID id is required}}
- {override: {domain: api, limit: 5/minute}, expect: {error: LIMIT needs at least one attribute or RULE}}
`, ""},
		{"differences", `
- {override: {domain: api, limit: 5/minute}}
- {override: {domain: api, path: {ip: a}, effect: deny}, expect: {error: no}}
- {ask: {domain: api, path: /jobs}, times: 3, expect: {error: other}}
- {ask: {domain: api, ip: b}, times: 2, expect: {error: [a, b]}}
`, `c:3: the override is an error: ERR LIMIT needs at least one attribute or RULE, got none
c:4: error: got "", want it with "no"
c:5: error: got "ERR jobs/lease-30s counts leases: ID id is required", want it with "other" (request 1 of 3)
c:6: error: got "", want it with "a" (request 1 of 2)
c:6: error: got "", want it with "b" (request 2 of 2)
`},
		{"mistakes", `
- {override: {domain: api, effect: deny}, times: 2}
- {override: {domain: api, effect: close}}
- {override: {effect: deny}}
- {override: {domain: api, effect: deny, limit: 1/s}}
- {override: {domain: api, effect: deny}, expect: {allowed: 1}}
- {ask: {domain: api, a: b}, expect: {allowed: 1, error: no}}
`, `c:3: a step with override may only have at and expect, got times
c:4: effect must be allow, deny, limit or drop, got 'close'
c:5: override must have domain, and effect or limit, as in {domain: api, path: {ip: 203.0.113.7}, effect: deny}
c:6: override must have a limit exactly for the effect limit, got effect deny
c:7: expect has either error or fields of an answer, which an override does not have, got allowed
c:8: expect has either error or fields of an answer, which an override does not have, got error
`},
	} {
		checkSteps(t, set, tt.name, tt.steps, tt.want)
	}
}

// checkSteps compares the mistakes and differences of steps with those wanted, a line each.
func checkSteps(t *testing.T, set *rules.Set, name, steps, want string) {
	t.Helper()
	scenarios, err := source.ParseCases(source.File{Name: "c",
		Text: []byte("start: 2026-11-22T00:00:00Z\nsteps:" + steps)})
	got := ""
	if err != nil {
		got = err.Error() + "\n"
	}
	for _, d := range Run(set, scenarios).Differences {
		got += d.Error() + "\n"
	}
	if got != want {
		t.Errorf("%s:\n%swant:\n%s", name, got, want)
	}
}

// TestRunWarnsOfNoLimit: a request of a mistyped domain or attribute passes as expected, because it
// meets no limit. A step that expects the reason or the rule means it.
func TestRunWarnsOfNoLimit(t *testing.T) {
	set, err := rules.Load([]source.File{{Name: "rules.yaml", Text: []byte(limits)}})
	if err != nil {
		t.Fatal(err)
	}
	scenarios, err := source.ParseCases(source.File{Name: "c", Text: []byte(`start: 2026-11-22T00:00:00Z
steps:
- {ask: {domain: apy, ip: a, path: /login}, times: 3, expect: {allowed: 1}}
- {ask: {domain: api, pi: a, path: /login}, expect: {allowed: 1}}
- {ask: {domain: apy, ip: a}, expect: {allowed: 1, reason: none}}
- {ask: {domain: api, ip: a}, expect: {rule: ""}}
- {ask: {domain: api, ip: a}}
- {ask: {domain: api, ip: a, path: /login}, expect: {allowed: 1}}
`)})
	if err != nil {
		t.Fatal(err)
	}
	r, got := Run(set, scenarios), ""
	for _, w := range r.Warnings {
		got += w.Error() + "\n"
	}
	want := `c:3: the rules have no domain "apy"; if that is meant, expect reason: none
c:4: the request meets no limit; if that is meant, expect reason: none
`
	if got != want || r.Different > 0 {
		t.Errorf("%d differences, warnings:\n%swant:\n%s", r.Different, got, want)
	}
}
