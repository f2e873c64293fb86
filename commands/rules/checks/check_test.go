package checks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/rules"
	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// A bench asks a simulator.
type bench struct {
	*Simulator
	t testing.TB
}

// newBench makes a bench at 02:39:14.8561 UTC, 45 144 ms before the end of a minute.
func newBench(t testing.TB, text string) *bench {
	set, err := rules.Load([]source.File{{Name: "rules.yaml", Text: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 22, 2, 39, 14, 856_100_000, time.UTC)
	return &bench{NewSimulator(set, engine.Instant(at.UnixNano())), t}
}

// ask decides a request.
func (x *bench) ask(q *Request) *Answer {
	x.t.Helper()
	a, err := x.Ask(q)
	if err != nil {
		x.t.Fatal(err)
	}
	return a
}

// request makes a request of a line: DOMAIN key value ... [AND key value ...].
func request(line string) *Request {
	words := strings.Fields(line)
	q := &Request{}
	q.Reset([]byte(words[0]))
	d := q.AddDescriptor()
	for words = words[1:]; len(words) > 0; {
		if words[0] == "AND" {
			d, words = q.AddDescriptor(), words[1:]
		}
		d.Entries = append(d.Entries, rules.Entry{Key: []byte(words[0]), Value: []byte(words[1])})
		words = words[2:]
	}
	return q
}

// text returns an answer as RL.CHECK replies it.
func (a *Answer) text() string {
	allowed := 0
	if a.Allowed {
		allowed = 1
	}
	return fmt.Sprintf("%d %d %d %d %d %s %v", allowed, a.Limit, a.Remaining, a.WaitMillis, a.ResetMillis, a.Name,
		a.Reason)
}

const apiRules = `
domain: api
lists:
  office: {key: ip, cidr: [192.0.2.0/24]}
  stolen: {key: api_key, values: [k-17]}
deny: [stolen]
allow: [office]
rules:
  - name: login
    match: {path: /login, method: [POST, PUT]}
    per: [ip]
    limits: [5/minute, 20/day]
    penalty: {after: 3, within: 10m, block: 1m, growth: 2, max: 1d, forgive: 1d}
  - name: tenant
    per: [tenant]
    tier: plan
    limits:
      free: [10/s token burst 20, 10000/day]
      pro: [100/s token burst 200, 1000000/month]
      enterprise: unlimited
      default: free
  - name: search
    match: {path: /search/*}
    per: [user]
    limits: [{count: 10, window: 1m, algorithm: log, name: search-minute, grace: 2, warn_at: 80}]
  - name: trial
    match: {path: /search/*}
    per: [user]
    limits: [1/minute]
    shadow: true
  - name: jobs
    match: {path: /jobs}
    per: [user]
    limits: [2 at once ttl 30s]
  - name: shut
    match: {path: /shut}
    limits: [none]
`

// TestAnswers walks through requests by the rules above.
func TestAnswers(t *testing.T) {
	x := newBench(t, apiRules)
	const login = "api ip 203.0.113.7 path /login method POST"
	for i, tt := range []struct {
		after time.Duration
		line  string
		want  string
	}{
		{0, login, "1 5 4 0 45144 login/slide-1m ok"},
		{0, login, "1 5 3 0 75144 login/slide-1m ok"},
		{0, login, "1 5 2 0 85144 login/slide-1m ok"},
		{0, login, "1 5 1 0 90144 login/slide-1m ok"},
		{0, login, "1 5 0 0 93144 login/slide-1m near"},
		{0, login, "0 5 0 45144 93144 login/slide-1m limited"},
		{0, login, "0 5 0 45144 93144 login/slide-1m limited"},
		{0, login, "0 5 0 45144 93144 login/slide-1m limited"},
		{0, login, "0 0 0 60000 86460000 login blocked"},
		{time.Minute, login, "1 5 1 0 45144 login/slide-1m ok"},
		{0, "api ip 192.0.2.9 path /login method POST", "1 -1 -1 0 0  allowed"},
		{0, "api ip 192.0.2.9 api_key k-17", "0 0 0 -1 0  denied"},
		{0, "api tenant t1 plan pro", "1 200 199 0 10 tenant/token-1s ok"},
		{0, "api tenant t1 plan enterprise", "1 -1 -1 0 0  unlimited"},
		{0, "api tenant t2 plan unheard", "1 20 19 0 100 tenant/token-1s ok"},
		{0, "api path /other", "1 -1 -1 0 0  none"},
		{0, "elsewhere path /other", "1 -1 -1 0 0  none"},
		{0, "api ip 203.0.113.8 path /login method PUT AND api_key k-17", "0 0 0 -1 0  denied"},
		{0, "api ip 192.0.2.9 AND tenant t2 plan free", "1 20 18 0 200 tenant/token-1s ok"},
		{0, "api path /shut", "0 0 0 -1 0 shut/none limited"},
	} {
		x.Now += engine.Instant(tt.after)
		if got := x.ask(request(tt.line)).text(); got != tt.want {
			t.Errorf("step %d: %s\n got %s\nwant %s", i, tt.line, got, tt.want)
		}
	}
}

// TestRequests asks in other ways than for one token: for several tokens, for no tokens, to
// look, to settle, for leases. A step names all differences from a request for one token.
func TestRequests(t *testing.T) {
	x := newBench(t, apiRules)
	const search, jobs = "api user u1 path /search/a", "api user u1 path /jobs"
	for i, tt := range []struct {
		line string
		q    Request
		want string
		rows string // the modes, with - for those that deny
	}{
		{search, Request{Hits: 8}, "1 10 2 0 60000 search/search-minute ok", "enforced -shadow"},
		{search, Request{Hits: 1}, "1 10 1 0 60000 search/search-minute near", "enforced shadow"},
		{search, Request{Hits: 0}, "1 10 1 0 60000 search/search-minute near", "enforced -shadow"},
		{search, Request{Hits: 2}, "1 10 0 0 60000 search/search-minute grace", "enforced -shadow"},
		{search, Request{Hits: 2}, "0 10 0 60000 60000 search/search-minute limited", "-enforced -shadow"},
		{search, Request{Hits: 2, Peek: true}, "0 10 0 60000 60000 search/search-minute limited", "-enforced -shadow"},
		{search, Request{Hits: 1, Peek: true}, "1 10 0 0 60000 search/search-minute grace", "enforced -shadow"},
		{search, Request{Settle: -3}, "1 10 2 0 60000 search/search-minute ok", "enforced shadow"},
		{search, Request{Settle: 2}, "1 10 0 0 60000 search/search-minute near", "enforced shadow"},
		{"api user u2 path /search/a", Request{Settle: 2}, "1 10 8 0 60000 search/search-minute ok", "enforced shadow"},
		{jobs, Request{Hits: 1, ID: []byte("a")}, "1 2 1 0 30000 jobs/lease-30s ok", "enforced"},
		{jobs, Request{Hits: 1, ID: []byte("b")}, "1 2 0 0 30000 jobs/lease-30s near", "enforced"},
		{jobs, Request{Hits: 1, ID: []byte("c")}, "0 2 0 30000 30000 jobs/lease-30s limited", "-enforced"},
		{jobs, Request{Hits: 1, ID: []byte("b")}, "1 2 0 0 30000 jobs/lease-30s near", "enforced"},
		{jobs, Request{Settle: 1, ID: []byte("a")}, "1 2 1 0 30000 jobs/lease-30s ok", "enforced"},
		{jobs, Request{Hits: 1, ID: []byte("c")}, "1 2 0 0 30000 jobs/lease-30s near", "enforced"},
		{jobs, Request{Settle: 1}, "1 2 0 0 30000 jobs/lease-30s near", "enforced"},
	} {
		q := request(tt.line)
		q.Hits, q.Peek, q.Settle, q.ID = tt.q.Hits, tt.q.Peek, tt.q.Settle, tt.q.ID
		a := x.ask(q)
		if got := a.text(); got != tt.want {
			t.Errorf("step %d: %s %+v\n got %s\nwant %s", i, tt.line, tt.q, got, tt.want)
		}
		var modes []string
		for j, r := range a.Rows {
			mode := a.Met[j].Limit.Mode.String()
			if !r.Allowed {
				mode = "-" + mode
			}
			modes = append(modes, mode)
		}
		if got := strings.Join(modes, " "); got != tt.rows {
			t.Errorf("step %d: %s %+v: rows %q, want %q", i, tt.line, tt.q, got, tt.rows)
		}
	}
}
