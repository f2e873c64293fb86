package ruletest

import (
	"testing"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
)

const budgets = `
domain: chat
rules:
  - {name: calls, per: [tenant], limits: [{count: 60, window: hour, algorithm: log, hits: 1}]}
  - {name: tokens, per: [tenant], limits: [{count: 10000, window: hour, algorithm: log}]}
---
domain: spend
rules:
  - {name: money, per: [tenant], limits: [{count: 10000, window: day, weights: {in: 2.50, out: 10}}]}
`

// TestReservations: a file of cases reserves, extends, commits and cancels, and its mistakes and differences
// have their lines.
func TestReservations(t *testing.T) {
	set, err := rules.Load([]source.File{{Name: "rules.yaml", Text: []byte(budgets)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, steps, want string }{
		{"a life that ends by a commit", `
- {ask: &a {domain: chat, tenant: a}, hits: 5200, reserve: {id: r, ttl: 30s, keep: 1200}, times: 2, expect: {allowed: 1, remaining: 59}}
- {at: 20s, extend: {id: r, ttl: 30s, by: 500, keep: 1350}, expect: {done: 1, state: open, n: 5700, wait_ms: 0}}
- {at: 45s, commit: {id: r, actual: 1510}, times: 2, expect: {done: 1, state: committed, n: 1510}}
- {commit: {id: r, actual: 1511}, expect: {done: 0, n: 1510}}
- {ask: *a, hits: 8491, expect: {allowed: 0, rule: tokens/log-1h, remaining: 8490}}
- {cancel: {id: r}, expect: {done: 0, state: committed}}
- {at: 400s, cancel: {id: r}, expect: {done: 0, state: unknown, n: 0}}
`, ""},
		{"lives that end by their ttl, and by a cancel", `
- {ask: &a {domain: chat, tenant: a}, hits: 9000, reserve: {id: r, ttl: 30s, keep: 1200}}
- {extend: {id: r, ttl: 30s, by: 1001}, expect: {done: 0, state: limited, n: 9000, wait_ms: 3600000}}
- {ask: *a, hits: 9000, reserve: {id: s, ttl: 30s, partial: true, keep: all}, expect: {allowed: 1000}}
- {at: 30s, extend: {id: r, ttl: 30s}, expect: {done: 0, state: expired, n: 1200}}
- {ask: *a, hits: 7800, expect: {allowed: 1}}
- {commit: {id: r, actual: [1, 1300]}, expect: {done: 1, state: late, n: 1300}}
- {ask: &b {domain: chat, tenant: b}, hits: 9000, reserve: {id: b, ttl: 30s}, expect: {allowed: 1}}
- {cancel: {id: b}, expect: {done: 1, state: canceled}}
- {ask: *b, hits: 1, peek: true, expect: {rule: calls/log-1h, remaining: 60}}
- {ask: *b, hits: 9000, reserve: {id: b, ttl: 30s}, expect: {error: "BUSYKEY id 'b' is of a reservation that was canceled"}}
`, ""},
		{"a commit of named amounts", `
- {ask: &s {domain: spend, tenant: s}, hits: {in: 120, out: 800}, reserve: {id: m, ttl: 30s}, expect: {remaining: 1700}}
- {commit: {id: m, actual: {in: 119, tokens: 1}}, expect: {error: "amount: one of the reservation, got 'tokens'; there are in, out"}}
- {commit: {id: m, actual: {in: 119, out: 41}}, expect: {done: 1, state: committed, n: 708}}
- {commit: {id: m, actual: {out: 41, in: 119}}, expect: {done: 1, n: 708}}
- {ask: *s, hits: 0, expect: {remaining: 9292}}
`, ""},
		{"differences", `
- {ask: {domain: chat, tenant: a}, hits: 100, reserve: {id: r, ttl: 30s}, expect: {allowed: 0}}
- {commit: {id: r, actual: [1, 2, 3]}}
- {commit: {id: r, actual: 7}, times: 2, expect: {done: 1, n: [7, 8]}}
- {cancel: {id: r}, expect: {state: canceled}}
- {cancel: {id: r}, expect: {error: ERR}}
- {ask: {domain: chat, tenant: a}, hits: 99, reserve: {id: r, ttl: 30s}}
`, `c:3: allowed: got 1, want 0
c:4: the commit is an error: ERR RL.COMMIT takes 1 number for all variable limits, or 2, one for each limit, got 3
c:5: n: got 7, want 8 (request 2 of 2)
c:6: state: got "committed", want "canceled"
c:7: error: got "", want it with "ERR"
c:8: the request is an error: BUSYKEY id 'r' is of another request
`},
		{"mistakes", `
- {ask: {domain: chat, tenant: a}, reserve: {id: r}}
- {ask: {domain: chat, tenant: a}, reserve: {id: r, ttl: 30s, by: 2}}
- {ask: {domain: chat, tenant: a}, reserve: {id: r, ttl: 30s, keep: some}}
- {ask: {domain: chat, tenant: a}, reserve: {id: r, ttl: 30s}, peek: true}
- {ask: {domain: chat, tenant: a}, reserve: {id: r, ttl: 30s}, expect: {done: 1}}
- {ask: {domain: chat, tenant: a}, commit: {id: r, actual: 1}}
- {extend: {id: r, by: 5}}
- {extend: {id: r, ttl: 0s}}
- {commit: {id: r, actual: []}}
- {commit: {id: r, actual: -1}}
- {commit: {id: r, actual: {}}}
- {commit: {id: r, actual: {in: -1}}}
- {commit: {id: r, actual: {1in: 1}}}
- {commit: {id: r, actual: {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1, m: 1, n: 1, o: 1, p: 1, q: 1}}}
- {cancel: {}}
- {cancel: {id: r}, commit: {id: r, actual: 1}}
- {cancel: {id: r}, expect: {allowed: 1}}
- {override: {domain: chat, effect: deny}, cancel: {id: r}}
`, `c:3: reserve must have the words id and ttl, as in {id: r1, ttl: 30s}
c:4: the words of reserve are id, ttl, keep or partial, got 'by'
c:5: keep must be all or a whole number from 0 to 2000000000001, got 'some'
c:6: a step with reserve may not have by or peek
c:7: expect must have fields of the answer: done, state, n and wait_ms for extend, commit and cancel; allowed, limit, remaining, wait_ms, reset_ms, rule and reason for ask; got done
c:8: a step with commit may only have at, times and expect, got ask
c:9: extend must have the words id and ttl, as in {id: r1, ttl: 30s}
c:10: ttl must be a duration of 1us to 10 years, such as 500ms, 10m or 1d, got '0s'
c:11: actual must be a number or a list of 1 to 64 numbers, got a list of 0
c:12: actual must be a whole number from 0 to 2000000000001, without quotes, got '-1'
c:13: actual must be a whole number or at least one amount, such as {in: 1200}, got a mapping
c:14: actual in must be a whole number from 0 to 2000000000001, without quotes, got '-1'
c:15: the name of an amount must be 1 to 64 letters, digits or _-./ that begin with a letter, got '1in'
c:16: actual may have 16 amounts, got 17
c:17: cancel must have the word id, as in {id: r1}
c:18: a step with commit may only have at, times and expect, got cancel
c:19: expect must have fields of the answer: done, state, n and wait_ms for extend, commit and cancel; allowed, limit, remaining, wait_ms, reset_ms, rule and reason for ask; got allowed
c:20: a step with override may only have at and expect, got cancel
`},
	} {
		checkSteps(t, set, tt.name, tt.steps, tt.want)
	}
}
