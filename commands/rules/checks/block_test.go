package checks

import (
	"fmt"
	"testing"
	"time"

	"limitsrv/commands/limiters"
	"limitsrv/commands/rules/live"
	"limitsrv/engine"
)

// TestBlockedKeys blocks the key of a limit: requests that count there are denied until the block ends,
// and count nowhere. Then the key has its whole limit, and all other keys have their counts.
func TestBlockedKeys(t *testing.T) {
	const rules = `
domain: d
descriptors: [{key: tree, rate_limit: {unit: hour, requests_per_unit: 9}}]
rules:
  - {name: one, match: {on: one}, per: [ip], limits: [9/h fixed]}
  - {name: two, match: {on: two}, per: [ip], limits: [9/h fixed, 8/h token]}
  - {name: box, match: {on: box}, per: [ip], limits: [9/h log], penalty: {after: 1, within: 1m, block: 1m}}
  - {name: trial, match: {on: trial}, per: [ip], limits: [9/h slide], shadow: true}
  - {name: quota, match: {on: quota}, per: [ip], quota: true, limits: [9/h]}
  - {name: jobs, match: {on: jobs}, per: [ip], limits: [9 at once ttl 1h]}
`
	for _, tt := range []struct{ line, key, name string }{
		{"d tree a", "rule:d|tree=a#FIXED", "tree"},
		{"d on one ip a", "rule:d|one|a#FIXED:fixed-1h", "one/fixed-1h"},
		{"d on two ip a", "rule:d|two|a#TOKEN:token-1h", "two/token-1h"},
		{"d on two ip a AND on one ip a", "rule:d|one|a#FIXED:fixed-1h", "one/fixed-1h"},
		{"d on box ip a", "rule:d|box|a#LOG:log-1h", "box/log-1h"},
		{"d on trial ip a", "rule:d|trial|a#SLIDE:slide-1h", "trial/slide-1h"},
		{"d on quota ip a", "rule:d|quota|a#SLIDE:slide-1h", "quota/slide-1h"},
		{"d on jobs ip a", "rule:d|jobs|a#LEASE:lease-1h", "jobs/lease-1h"},
	} {
		x := newBench(t, rules)
		q := request(tt.line)
		q.ID = []byte("holder")
		before := *x.ask(q)
		first := append([]Row(nil), before.Rows...)
		x.block(tt.key)
		want := "0 0 0 60000 60000 " + tt.name + " blocked"
		for range 2 {
			if got := x.ask(q); got.text() != want || len(got.Boxes) != 1 || len(got.Closed) != 0 {
				t.Errorf("%s: %s, boxes %+v, want %s", tt.line, got.text(), got.Boxes, want)
			}
		}
		limit := x.check.memory.answer.Boxes[0].Limit - 1
		if index := int(x.check.memory.answer.Met[limit].index); index >= 0 && x.state.Counts(index)[live.Blocked] != 2 {
			t.Errorf("%s: counts %v, want 2 blocked", tt.line, x.state.Counts(index))
		}
		q.Peek = true
		if got := x.ask(q).text(); got != want {
			t.Errorf("%s, a look: %s, want %s", tt.line, got, want)
		}
		q.Peek, q.Settle = false, 2
		if got := x.ask(q); !got.Allowed || got.Reason == Blocked {
			t.Errorf("%s, a settlement: %s, want it allowed", tt.line, got.text())
		}
		q.Settle, x.state.Shadow = 0, true
		if got := x.ask(q); !got.Allowed || got.Reason == Blocked {
			t.Errorf("%s, in shadow mode: %s, want it allowed", tt.line, got.text())
		}
		x.state.Shadow = false
		x.Now += engine.Instant(time.Minute)
		q.ID = []byte("another holder")
		after := x.ask(q)
		if !after.Allowed || after.Rows[limit].Remaining != first[limit].Remaining {
			t.Errorf("%s, after the block: %s, %+v, want the limit anew", tt.line, after.text(), after.Rows)
		}
	}
}

// block blocks a key for a minute.
func (x *bench) block(key string) {
	x.t.Helper()
	var b engine.Batch
	limiters.AppendBlock(&b, []byte(key), int64(time.Minute), []byte("rule:"))
	x.engine.Apply(x.Now, &b)
	if err := limiters.BlockFailed(b.Decisions); err != nil || b.Decisions[0].Allowed != 1 {
		x.t.Fatal(fmt.Errorf("%s: %w, forgotten: %d", key, err, b.Decisions[0].Allowed))
	}
}
