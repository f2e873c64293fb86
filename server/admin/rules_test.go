package admin

import (
	"context"
	"fmt"
	"testing"

	"limitsrv/commands/rules/live"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/session"
)

const ruleText = `
domain: api
rules:
  - {name: login, per: [ip], match: {path: /login}, limits: [2/minute], penalty: {after: 1, within: 1m, block: 1h}}
  - {name: dark, match: {path: /dark}, limits: [1/minute], shadow: true}
  - {name: idle, match: {path: /idle}, limits: [7/day]}
descriptors:
  - {key: tenant, value_to_metric: true, descriptors: [{key: path, rate_limit: {unit: hour, requests_per_unit: 3}}]}
`

// load loads rules.
func (f *fixture) load(text string) {
	f.t.Helper()
	_, err := f.handler.LoadRules(context.Background(),
		session.RulesLoad{Files: []source.File{{Text: []byte(text)}}, Expect: -1, User: "alice", Note: "ticket 7"})
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestRules(t *testing.T) {
	f := serve(t, "", nil)
	if is := getJSON[rulesState](f, "/api/rules"); is.Version != 0 || is.SHA != "" || is.Rows == nil ||
		is.Overrides == nil || is.Boxes == nil {
		t.Errorf("without rules: %+v", is)
	}
	f.load(ruleText)
	for range 4 {
		f.execute("RL.CHECK api ip 1 path /login")
	}
	f.execute("RL.CHECK api path /dark", "RL.CHECK api path /dark", "RL.CHECK api x y", "RL.CHECK other x y",
		"RL.OVERRIDE SET api ip 7 ALLOW", "RL.OVERRIDE SET api ip 8 DENY EX 60 NOTE abuse",
		"RL.OVERRIDE SET api ip 9 LIMIT 5/s RULE login PX 9")
	f.clock.Advance(5e9)
	there := make(chan struct{})
	f.handler.Config().Rules.Await(func() { close(there) })
	<-there
	f.execute("RL.CHECK api ip 1 path /idle")
	f.handler.SetRulesFile(fmt.Errorf("r.yaml:3: no"))
	is := getJSON[rulesState](f, "/api/rules")
	limit := func(name, text, mode string, allowed, denied, shadow int64) ruleRow {
		return ruleRow{"api", name, "", text, mode, ruleCount{allowed, denied, shadow}}
	}
	for i, want := range []ruleRow{
		limit("login/slide-1m", "2/1m slide", "enforced", 2, 2, 0), limit("dark/slide-1m", "1/1m slide", "shadow", 1, 0, 1),
		limit("idle/fixed-day", "7/day fixed", "enforced", 1, 0, 0), limit("tenant/path", "3/1h fixed", "enforced", 0, 0, 0),
	} {
		if i >= len(is.Rows) || is.Rows[i] != want {
			t.Errorf("row %d of %+v, want %+v", i, is.Rows, want)
		}
	}
	switch {
	case is.Version != 1 || len(is.SHA) != 64 || is.Loaded != testStart.Millis() || is.User != "alice" ||
		is.Note != "ticket 7" || is.Domains != 1 || is.Rules != 5 || is.Limits != 4:
		t.Errorf("the rules are %+v", is)
	case is.FileError != "r.yaml:3: no" || is.Failed != 1 || is.Shadow || is.Unusable || is.Penalties != 1 ||
		is.Unmatched != 2:
		t.Errorf("their state is %+v", is)
	case len(is.Overrides) != 2 || is.Overrides[0].Effect != "DENY" || is.Overrides[0].Left != 55_000 ||
		is.Overrides[0].Note != "abuse" || is.Overrides[1].Left != -1 ||
		is.Overrides[0].User != "default" || len(is.Overrides[0].Path) != 1 ||
		is.Overrides[0].Path[0] != rawAttribute{encodeKey([]byte("ip")), encodeKey([]byte("8"))}:
		t.Errorf("the overrides are %+v", is.Overrides)
	case len(is.Boxes) != 1 || is.BoxCount != 1 ||
		is.Boxes[0] != boxRow{encodeKey([]byte("rule:api|login|1#penalty")), 0, 1, 3_595_000}:
		t.Errorf("the closed boxes are %+v", is.Boxes)
	}
	raw := is.Boxes[0].Raw
	f.expect("/api/key?raw="+raw, "", 200,
		`{"found":true,"key":"rule:api|login|1#penalty","raw":"`+raw+
			`","algorithm":"PENALTY","limit":1,"rate":null,"window_ns":null,"calendar":null,"remaining":0,"wait_ms":3595000,"reset_ms":89995000,"level":1}`)
	f.expect("/api/reset", `{"raw":"`+raw+`"}`, 200, `{"forgotten":1}`)
	if is = getJSON[rulesState](f, "/api/rules"); len(is.Boxes) != 0 {
		t.Errorf("after a reset the closed boxes are %+v", is.Boxes)
	}
}

// countOne counts a request at a limit.
func countOne(s *live.State, limit int, o live.Outcome) {
	var t live.Tally
	t.Count(s, 0, limit, nil, o)
	t.Flush(0)
}

// TestRuleSeries: limits that have series of their own keep them while the rules stay, and all
// other limits are counted together.
func TestRuleSeries(t *testing.T) {
	f := serve(t, "", nil)
	f.load("domain: api\nrules: [{name: a, match: {on: a}, limits: 9/s}, {name: b, match: {on: b}, limits: 9/s}, {name: " +
		"c, match: {on: c}, limits: 9/s}]")
	s := f.handler.Config().Rules.Current()
	small := live.NewState(s.Set, live.Options{Series: 2})
	count := func(limit int) { countOne(small, limit, live.Allowed) }
	series := new(ruleSeries)
	count(1)
	series.sums(small)
	count(2)
	series.sums(small)
	count(0)
	got := series.sums(small)
	for _, name := range []string{"b", "c"} {
		if n := got[ruleLabels{"api", name, "slide-1s", ""}]; n == nil || n[live.Allowed] != 1 {
			t.Errorf("rule %s: %v, want 1", name, n)
		}
	}
	if n := got[ruleLabels{otherRules, otherRules, otherRules, ""}]; n == nil || n[live.Allowed] != 1 || len(got) != 3 {
		t.Errorf("others: %v, and %d series, want 1 and 3", n, len(got))
	}
}

// TestRuleHours counts for two hours.
func TestRuleHours(t *testing.T) {
	f := serve(t, "", nil)
	f.load("domain: api\nrules: [{name: a, limits: 9/s}]")
	s := live.NewState(f.handler.Config().Rules.Current().Set, live.Options{})
	r := newRuleHours()
	for step := range 2 * ruleSteps {
		want := ruleCount{Allowed: int64(min(step, ruleSteps-1))}
		if got := r.rows(s)[0].ruleCount; got != want {
			t.Errorf("after %d readings: %+v, want %+v", step, got, want)
		}
		countOne(s, 0, live.Allowed)
		r.read(s)
	}
	s = live.NewState(s.Set, live.Options{}) // as after a restart of the counters
	countOne(s, 0, live.Blocked)
	if got, want := r.rows(s)[0].ruleCount, (ruleCount{Denied: 1}); got != want {
		t.Errorf("counters that began anew: %+v, want %+v", got, want)
	}
}
