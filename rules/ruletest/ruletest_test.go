package ruletest

import (
	"testing"

	"limitsrv/rules"
	"limitsrv/rules/source"
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
	f.Add("start: 2026-11-22T02:39:14.856Z\nsteps:\n- {at: 0s, ask: {domain: api, ip: 203.0.113.7, path: /login}, times: 2, expect: {allowed: [1, 0], rule: login/slide-1m}}")
	f.Add("start: 2000-01-01T00:00:00Z\nsteps: [{ask: [{domain: api, path: [/login, /jobs]}, {ip: a}], id: a, hits: 2, peek: true, expect: {limit: 1}}]\n---\nstart: 1")
	f.Add("start: 2199-12-31T00:00:00Z\nsteps: [{at: 3650d, domain: api, ask: {<<: &a {path: /jobs}, domain: *a}, by: -1}]")
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
		requests := 0
		for _, s := range scenarios {
			for _, step := range s.Steps {
				requests += step.Times
			}
		}
		if requests > 1000 {
			return
		}
		r := Run(set, scenarios)
		if r.Requests != requests || r.Different < len(r.Differences) || r.Different > r.Values+requests {
			t.Errorf("%d requests, want %d; %d differences, %d of them reported, of %d values", r.Requests, requests, r.Different, len(r.Differences), r.Values)
		}
		for _, d := range r.Differences {
			if d.Line < 1 || d.Line > lines {
				t.Errorf("%v: the text has %d lines", d, lines)
			}
		}
	})
}

// TestRunReportsEachChange expects one value of ten answers: each change of the answers
// is one difference, and equal answers in a row are one.
func TestRunReportsEachChange(t *testing.T) {
	set, err := rules.Load([]source.File{{Name: "rules.yaml", Text: []byte("domain: api\nrules: [{name: a, match: {k: a}, limits: 3/day}]")}})
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
