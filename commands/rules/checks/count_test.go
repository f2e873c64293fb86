package checks

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"limitsrv/commands/rules/live"
)

// TestCount: each request adds an outcome to each limit that it meets, if it is not only
// looking.
func TestCount(t *testing.T) {
	x := newBench(t, `
domain: d
rules:
  - {name: a, match: {on: a}, limits: [{count: 2, window: 1m, warn_at: 50, grace: 1}, 100/day]}
  - {name: dark, match: {on: dark}, limits: [1/minute], shadow: true}
  - {name: box, match: {on: box}, limits: [1/minute], penalty: {after: 1, within: 1m, block: 1m, max: 1h, forgive: 1d}}
  - {name: each, per: [per], limits: [1/minute], penalty: {after: 1, within: 1m, block: 1m}}
`)
	for _, line := range []string{"d on a", "d on a", "d on a", "d on a", "d on dark", "d on dark", "d on dark",
		"d on box", "d on box", "d on box", "d on none", "d per a AND per b", "d per b AND per b", "d per c AND per b"} {
		x.ask(request(line))
	}
	peek, settle := request("d on a"), request("d on a")
	peek.Peek, settle.Settle = true, 1
	x.ask(peek)
	x.ask(settle)
	for i, want := range []map[live.Outcome]int64{
		{live.Allowed: 1, live.Near: 1, live.Grace: 1, live.Limited: 1},
		{live.Allowed: 3},
		{live.Allowed: 1, live.ShadowLimited: 2},
		{live.Near: 1, live.Limited: 1, live.Blocked: 1},
		// a and b pass; b is limited; then b is blocked, and c not
		{live.Near: 1, live.Allowed: 1, live.Limited: 1, live.Blocked: 1},
	} {
		counts := x.state.Counts(i)
		for o := range counts {
			if counts[o] != want[live.Outcome(o)] {
				t.Errorf("%s: %d requests were %v, want %d", x.state.Set.Limit(i).Name, counts[o], live.Outcome(o),
					want[live.Outcome(o)])
			}
		}
	}
}

// TestCountUnmatched: requests that no rule matched are counted by domain, if they are not
// only looking, and if no list decides.
func TestCountUnmatched(t *testing.T) {
	x := newBench(t, `
domain: d
unmatched: deny
lists: {bad: {key: ip, values: [bad]}, good: {key: ip, values: [good]}}
deny: [bad]
allow: [good]
descriptors: [{key: open}]
rules: [{name: a, match: {on: a}, limits: [2/m]}, {name: free, match: {on: free}, limits: unlimited}]
---
domain: e
`)
	for _, line := range []string{"d on a", "d on b", "d on free", "d open x", "d ip bad", "d ip good", "d on b AND on c",
		"e on a", "f on a", "g on a", "g on b"} {
		x.ask(request(line))
	}
	peek, settle := request("d on b"), request("d on b")
	peek.Peek, settle.Settle = true, 1
	x.ask(peek)
	x.ask(settle)
	set := x.state.Set
	if d, e, others := x.state.Unmatched(set.Domain("d")), x.state.Unmatched(set.Domain("e")),
		x.state.Unmatched(nil); d != 2 || e != 1 || others != 3 {
		t.Errorf("%d unmatched requests in d, %d in e, %d in others, want 2, 1 and 3", d, e, others)
	}
}

// TestClosed: the request that closes a box is told so, and counted.
func TestClosed(t *testing.T) {
	x := newBench(t, `
domain: d
descriptors: [{key: k, rate_limit: {unit: minute, requests_per_unit: 1}, penalty: {after: 1, within: 1m, block: 1s}}]
rules:
  - {name: box, match: {on: box}, per: [ip, user], limits: [1/minute], penalty: {after: 2, within: 1m, block: 1s, growth: 2}}
`)
	var got []string
	for _, line := range []string{"on box user u ip 1", "on box user u ip 1", "on box user u ip 1", "on box user u ip 1",
		"k v", "k v", "k v"} {
		q := request("d " + line)
		a := x.ask(q)
		for _, c := range a.Closed {
			got = append(got, fmt.Sprintf("%s: %v by %s of %v, level %d, %d ms", line, a.Reason, c.Rule.Name,
				c.Rule.Attributes(&q.Request, c.Descriptor), c.Level, c.Millis))
		}
	}
	want := []string{"on box user u ip 1: limited by box of [{ip 1} {user u}], level 1, 1000 ms",
		"k v: limited by k of [{k v}], level 1, 1000 ms"}
	if !slices.Equal(got, want) || x.state.Penalties() != 2 {
		t.Errorf("%d boxes closed: %q, want %q", x.state.Penalties(), got, want)
	}
}

// TestShadowOfAll: nothing is denied, and limits count as with shadow: true.
func TestShadowOfAll(t *testing.T) {
	x := newBench(t, `
domain: d
unmatched: deny
lists: {bad: {key: ip, values: [bad]}}
deny: [bad]
rules: [{name: a, match: {on: a}, limits: [1/m, 5/h], penalty: {after: 1, within: 1m, block: 1m}}]
`)
	x.state.Shadow = true
	for _, tt := range []struct {
		line   string
		reason Reason
	}{{"d on a", None}, {"d on a", None}, {"d on a", None}, {"d on b", Unmatched}, {"d ip bad", Denied}} {
		if a := x.ask(request(tt.line)); !a.Allowed || a.Reason != tt.reason || a.Limit != -1 || a.Remaining != -1 ||
			a.WaitMillis != 0 {
			t.Errorf("%s: %+v, want it allowed, %v", tt.line, a.Row, tt.reason)
		}
	}
	if minute, hour, boxes := x.state.Counts(0), x.state.Counts(1), x.state.Penalties(); minute[live.Allowed] != 1 ||
		minute[live.ShadowLimited] != 2 || hour[live.Allowed] != 3 || boxes != 0 {
		t.Errorf("counted %v and %v, %d boxes closed", minute, hour, boxes)
	}
}

// TestCountLabels: values of detailed_metric and value_to_metric have counters of their own.
func TestCountLabels(t *testing.T) {
	x := newBench(t, `
domain: d
descriptors: [{key: tenant, value_to_metric: true, descriptors: [{key: path, rate_limit: {unit: hour, requests_per_unit: 1}}]}]
`)
	x.state = live.NewState(x.state.Set, live.Options{Series: 9})
	for _, line := range []string{"d tenant a path /", "d tenant a path /x", "d tenant b path /"} {
		x.ask(request(line))
	}
	got := map[string]int64{}
	x.state.Series(0, func(label string, counts [live.Outcomes]int64) { got[label] = counts[live.Near] })
	if want := map[string]int64{"": 0, "tenant=a/path": 2, "tenant=b/path": 1}; !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
