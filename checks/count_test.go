package checks

import (
	"testing"

	"limitsrv/ruleset"
)

// TestCount: each request adds one outcome to each limit that it meets, if it is not only
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
	for _, line := range []string{"d on a", "d on a", "d on a", "d on a", "d on dark", "d on dark", "d on dark", "d on box", "d on box", "d on box", "d on none", "d per a AND per b", "d per b AND per b", "d per c AND per b"} {
		x.ask(request(line))
	}
	peek, settle := request("d on a"), request("d on a")
	peek.Peek, settle.Settle = true, 1
	x.ask(peek)
	x.ask(settle)
	for i, want := range []map[ruleset.Outcome]int64{
		{ruleset.Allowed: 1, ruleset.Near: 1, ruleset.Grace: 1, ruleset.Limited: 1},
		{ruleset.Allowed: 3},
		{ruleset.Allowed: 1, ruleset.ShadowLimited: 2},
		{ruleset.Near: 1, ruleset.Limited: 1, ruleset.Blocked: 1},
		{ruleset.Near: 1, ruleset.Allowed: 1, ruleset.Limited: 1, ruleset.Blocked: 1}, // a and b pass; b is limited; then b is blocked, and c not
	} {
		counts := x.state.Counts(i)
		for o := range counts {
			if counts[o] != want[ruleset.Outcome(o)] {
				t.Errorf("%s: %d requests were %v, want %d", x.state.Set.Limit(i).Name, counts[o], ruleset.Outcome(o), want[ruleset.Outcome(o)])
			}
		}
	}
}
