package checks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// TestEvents lists the events of requests: each request beyond a threshold has them, whichever limit
// binds, if the limit or the box has the word events.
func TestEvents(t *testing.T) {
	x := newBench(t, `
domain: d
descriptors: [{key: tree, rate_limit: {unit: day, requests_per_unit: 1, events: true}}]
rules:
  - {name: day, match: {on: day}, per: [user], limits: [3/day warn_at 50 events, 3/h]}
  - {name: grace, match: {on: grace}, limits: [1/day grace 1 events]}
  - {name: token, match: {on: token}, limits: [1/h token burst 2 events]}
  - {name: dark, match: {on: dark}, limits: [1/day events], shadow: true}
  - {name: quota, match: {on: quota}, limits: [1/day events, 2/m], quota: true}
  - {name: none, match: {on: none}, limits: [none events]}
  - {name: lease, match: {on: lease}, limits: [1 at once ttl 1m events]}
  - {name: box, match: {on: box}, per: [user], limits: [1/day], penalty: {after: 1, within: 1m, block: 2s, events: true}}
  - {name: mute, match: {on: mute}, limits: [1/day], penalty: {after: 1, within: 1m, block: 2s}}
  - {name: custom, match: {on: custom}, per: [user], limits: [9/day events]}
`)
	custom, err := rules.NewOverride(rules.Override{Domain: "d", Rule: "custom", Effect: rules.Replace, Limit: "1/day",
		Path: []rules.Attribute{{Key: "user", Value: "u"}}})
	if err != nil {
		t.Fatal(err)
	}
	x.state.Overrides = x.state.Overrides.With(custom)
	for _, tt := range []struct {
		line   string
		change func(*Request)
		events []string // of each repetition; "" for no event
	}{
		{"on day user u", nil, []string{"", "near day u 2/3", "near day u 3/3", "near day u 3/3, exhausted day u 3/3"}},
		{"on day user v", func(q *Request) { q.Hits = 9 }, []string{"exhausted day v 0/3"}},
		{"on day user v", func(q *Request) { q.Hits, q.Peek = 3, true }, []string{""}},
		{"on day user v", func(q *Request) { q.Hits = 3 }, []string{"near day v 3/3", "near day v 3/3, exhausted day v 3/3"}},
		{"on day user v", func(q *Request) { q.Hits = 0 }, []string{""}},
		{"on day user w", func(q *Request) { q.Settle = 1 }, []string{"", "near day w 2/3", "near day w 3/3",
			"near day w 3/3"}},
		{"on day user w", func(q *Request) { q.Settle = -1 }, []string{""}},
		{"on grace", nil, []string{"near grace 1/1", "near grace 1/1", "near grace 1/1, exhausted grace 1/1"}},
		{"on token", nil, []string{"", "near token 2/2", "near token 2/2, exhausted token 2/2"}},
		{"on dark", nil, []string{"", "", ""}},
		{"on quota", nil, []string{"near quota 1/1", "near quota 1/1, exhausted quota 1/1"}},
		{"on none", nil, []string{"", ""}},
		{"on lease", func(q *Request) { q.ID = []byte("a") }, []string{"near lease 1/1"}},
		{"on lease", func(q *Request) { q.ID = []byte("b") }, []string{"near lease 1/1, exhausted lease 1/1"}},
		{"on box user u", nil, []string{"", "blocked box u level 1 for 2000", "", ""}},
		{"on mute", nil, []string{"", "", ""}},
		{"on custom user u", nil, []string{"near custom u 1/1", "near custom u 1/1, exhausted custom u 1/1"}},
		{"tree a AND tree b", nil, []string{"near tree a 1/1, near tree b 1/1",
			"near tree a 1/1, exhausted tree a 1/1, near tree b 1/1, exhausted tree b 1/1"}},
		{"on other", nil, []string{""}},
	} {
		for i, want := range tt.events {
			q := request("d " + tt.line)
			if tt.change != nil {
				tt.change(q)
			}
			if got := x.events(q); got != want {
				t.Errorf("%s, request %d: events %q, want %q", tt.line, i+1, got, want)
			}
		}
	}
}

// events decides a request, and returns its events as text.
func (x *bench) events(q *Request) string {
	a := x.ask(q)
	var texts []string
	for _, e := range x.check.AppendEvents(nil, a, x.batch.Ops, x.batch.Decisions) {
		text := e.Kind.String() + " " + e.Rule.Name
		for _, a := range e.Rule.Attributes(&q.Request, e.Descriptor) {
			text += " " + a.Value
		}
		if e.Limit == nil {
			text += fmt.Sprintf(" level %d for %d", e.Level, e.ResetMillis)
		} else {
			text += fmt.Sprintf(" %d/%d", e.Limit.Quota-e.Remaining, e.Limit.Quota)
		}
		if len(e.Key) == 0 {
			text += " without a key"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// TestNoFurtherEvents: a decision that --no-quorum made has no events, and neither has the answer to a
// request that acted before.
func TestNoFurtherEvents(t *testing.T) {
	x := newBench(t, "domain: d\nrules: [{name: a, limits: 1/day events}]\n")
	q := request("d on a")
	a := x.ask(q)
	if got := x.check.AppendEvents(nil, a, x.batch.Ops, x.batch.Decisions); len(got) != 1 {
		t.Fatalf("%d events, want 1", len(got))
	}
	ds := slices.Clone(x.batch.Decisions)
	for i := range ds {
		ds[i] = engine.Decision{Allowed: 1, NoQuorum: true, Params: ds[i].Params}
	}
	if got := x.check.AppendEvents(nil, a, x.batch.Ops, ds); len(got) != 0 {
		t.Errorf("%d events without a quorum, want none", len(got))
	}
	x.check.Repeats()
	if got := x.check.AppendEvents(nil, a, x.batch.Ops, x.batch.Decisions); len(got) != 0 {
		t.Errorf("%d events of a request that acted before, want none", len(got))
	}
}
