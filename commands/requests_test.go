package commands

import (
	"maps"
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/commands/spec"
	"limitsrv/engine"
)

// requestRules have limits that count twice, a limit in shadow, a list, and a limit that quota needs.
const requestRules = `domain: api
lists: {bad: {key: ip, values: [bad]}}
deny: [bad]
rules:
  - {name: three, match: {on: three}, limits: [1/minute, 50/hour, 100/day]}
  - {name: dark, match: {on: dark}, limits: [1/minute], shadow: true}
`

// A requestCase is lines of a command, and their outcomes: allowed, denied, shadow_denied, error,
// no_quorum_allowed, repeated.
type requestCase struct {
	lines string
	want  [session.Outcomes]int64
}

// requestCases returns the case of each command that decides.
func requestCases() map[string]requestCase {
	all := maps.Clone(namedCases)
	for a := range engine.Algs() {
		name := "RL." + a.String()
		if _, named := all[strings.ToLower(name)]; named || !a.IsCounted() {
			continue
		}
		take := name + " a 1 1h"
		if a.Usage().Period == engine.Rate {
			take = name + " a 1 1/h"
		}
		want := [session.Outcomes]int64{1, 1, 1, 0, 0, 0}
		if a.Holds() {
			want = [...]int64{2, 1, 0, 0, 0, 0}
		}
		all[strings.ToLower(name)] = requestCase{take + "|" + take + "|" + take + " SHADOW", want}
	}
	return all
}

var namedCases = map[string]requestCase{
	"rl.token": {"RL.TOKEN a 1 1/h|RL.TOKEN a 1 1/h|RL.TOKEN a 1 1/h SHADOW|RL.TOKEN a 1 x|RL.TOKEN a|RL.TOKEN a 1 " +
		"1/h 0|RL.TOKEN a 0 1/h|RL.TOKEN p 2 1/h 5 PARTIAL|RL.TOKEN q 1 1/h ONCE i|RL.TOKEN q 1 1/h " +
		"ONCE i|RL.TOKEN r 1 1/h ONCE i|RL.TOKEN q 1 1/h ONCE j", [...]int64{3, 3, 1, 3, 0, 1}},
	"rl.leaky": {"RL.LEAKY a 1 1/h|RL.LEAKY a 1 1/h|RL.LEAKY b 9 1/h|RL.LEAKY b 9 1/h SHADOW",
		[...]int64{3, 1, 0, 0, 0, 0}},
	"rl.acquire": {"RL.ACQUIRE a 1 1h x|RL.ACQUIRE a 1 1h y|RL.ACQUIRE a 1 1h y SHADOW|RL.ACQUIRE b 0 1h y",
		[...]int64{1, 2, 1, 0, 0, 0}},
	"rl.all": {"RL.ALL TOKEN a 1 1/h 1 FIXED b 9 1h 1 FIXED c 9 1h 1|RL.ALL TOKEN a 1 1/h 1 FIXED b 9 1h 1 FIXED c " +
		"9 1h 1|RL.ALL TOKEN a 1 1/h 0 FIXED b 9 1h 0|RL.ALL FIXED d 0 1h 1 FIXED b 9 1h 1|" +
		"RL.ALL LOG e 1 1h 1 ONCE i|RL.ALL LOG e 1 1h 1 ONCE i",
		[...]int64{2, 2, 0, 0, 0, 1}},
	"rl.reserve": {"RL.RESERVE i 9s FIXED a 3 1h 2 LOG b 9 1h =1|RL.RESERVE i 9s FIXED a 3 1h 2 LOG b 9 1h =1|" +
		"RL.RESERVE j 9s FIXED a 3 1h 2|RL.RESERVE i 9s FIXED a 3 1h 1|RL.RESERVE j 9s PARTIAL FIXED a 3 1h 2|" +
		"RL.EXTEND i 9s BY 5|RL.COMMIT i 9|RL.CANCEL j", [...]int64{2, 1, 0, 1, 0, 1}},
	"cl.throttle": {"CL.THROTTLE a 0 1 60|CL.THROTTLE a 0 1 60|CL.THROTTLE a 0 1 60 0|CL.THROTTLE a 0 1 60 " +
		"-1|CL.THROTTLE a x", [...]int64{1, 1, 0, 1, 0, 0}},
	"rl.throttle": {"RL.THROTTLE a 0 1 60|RL.THROTTLE a 0 1 60", [...]int64{1, 1, 0, 0, 0, 0}},
	"throttle":    {"THROTTLE a 1 1 60|THROTTLE a 1 1 60", [...]int64{1, 1, 0, 0, 0, 0}},
	"gcra":        {"GCRA a 0 1 60|GCRA a 0 1 60", [...]int64{1, 1, 0, 0, 0, 0}},
	"rl.check": {"RL.CHECK api on three|RL.CHECK api on three|RL.CHECK api on three|RL.CHECK api on three PEEK|RL.CHECK " +
		"api on three HITS 0|RL.CHECK api on dark|" +
		"RL.CHECK api on dark|RL.CHECK api ip bad|RL.CHECK api ip good|RL.CHECK api on|RL.SETTLE api on three BY 1|" +
		"RL.CHECK api ip good ONCE i|RL.CHECK api on dark user u ONCE i|RL.CHECK api on dark user u ONCE i|RL.CHECK " +
		"api on three ip r RESERVE r 9s|RL.CHECK api on free RESERVE s 9s|RL.CHECK api on free RESERVE s 9s",
		[...]int64{5, 4, 2, 1, 0, 2}},
}

// TestRequestsAreCounted: each request has one outcome, for any number of limits. All commands that
// decide have a case.
func TestRequestsAreCounted(t *testing.T) {
	h := newTestHandler("")
	woken := make(chan struct{}, 1)
	s := h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
	load(t, s, woken, requestRules)
	cases := requestCases()
	for _, c := range Table() {
		if _, tested := cases[strings.ToLower(c.Name)]; tested != (c.Flags&spec.Decides != 0) {
			t.Errorf("%s decides: %v, and has a case: %v", c.Name, !tested, tested)
		}
	}
	for _, tt := range cases {
		ask(s, strings.Split(tt.lines, "|")...)
		ask(s, "FLUSHALL")
	}
	for _, c := range h.RequestCounts() {
		if want := cases[c.Via].want; c.N != want {
			t.Errorf("%s: %v requests were allowed, denied, denied in shadow, failed, allowed without a quorum, or repeated; "+
				"want %v",
				c.Via, c.N, want)
		}
	}
	if n := len(h.RequestCounts()); n != len(cases) {
		t.Errorf("%d commands are counted, want %d", n, len(cases))
	}
	before := h.Requests()
	ask(s, "CONFIG RESETSTAT", "MULTI", "RL.TOKEN m 1 1/h", "RL.TOKEN m 1 1/h", "EXEC",
		"EVAL return(redis.call('RL.TOKEN','m',1,1)) 0")
	after := h.Requests()
	if after[session.WasAllowed] != before[session.WasAllowed]+1 || after[session.WasDenied] != before[session.WasDenied]+
		1 {
		t.Errorf("after a transaction with one request of each the outcomes are %v, before they were %v", after, before)
	}
}

// TestRequestsWithoutQuorum: requests that the executor allows without a decision are counted apart.
func TestRequestsWithoutQuorum(t *testing.T) {
	h := newTestHandler("")
	woken := make(chan struct{}, 1)
	s := h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
	load(t, s, woken, requestRules)
	allowed := int64(1)
	h.Executor().Exec = execFunc(func(b *engine.Batch, done func(error)) {
		for i := range b.Ops {
			b.Decisions = append(b.Decisions, engine.Decision{NoQuorum: true, Params: b.Ops[i].Params, Allowed: allowed})
		}
		done(nil)
	})
	lines := []string{"RL.TOKEN a 1 1", "RL.ALL TOKEN a 1 1 1 FIXED b 1 1h 1", "RL.ACQUIRE a 1 1h x",
		"RL.CHECK api on three", "CL.THROTTLE a 1 1 1"}
	ask(s, lines...)
	allowed = 0
	ask(s, lines[:3]...)
	if got, want := h.Requests(), [...]int64{0, 3, 0, 0, 5, 0}; got != want {
		t.Errorf("the outcomes are %v, want %v", got, want)
	}
}
