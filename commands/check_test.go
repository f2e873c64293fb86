package commands

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// checkRules are rules with a single limit, with two limits, with weights, and with two limits and a
// penalty box.
const checkRules = `domain: api
rules:
  - {name: user, per: [user], limits: [1000000/minute, 100000000/day]}
  - {name: key, per: [key], limits: [1000000/minute]}
  - {name: login, match: {path: /login}, per: [ip], limits: [5/minute, 20/day], penalty: {after: 3, within: 10m, block: 1m}}
  - {name: tenant, per: [tenant], tier: plan, limits: {free: [10/s token burst 20, 10000/day], pro: unlimited, default: free}}
  - name: spend
    per: [payer]
    limits: [60/minute, {count: 1000000000, window: month, weights: {in: 2.50, out: 10, cached: 0.25}}]
`

// checker returns a session on a node with checkRules.
func checker(t testing.TB) (*session.Handler, *session.Session) {
	h := newTestHandlerWith(session.Config{Log: slog.New(slog.DiscardHandler)})
	woken := make(chan struct{}, 1)
	s := h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
	load(t, s, woken, checkRules)
	return h, s
}

// load loads rules by a session.
func load(t testing.TB, s *session.Session, woken chan struct{}, text string) {
	t.Helper()
	s.Do([][]byte{[]byte("RL.RULES"), []byte("LOAD"), []byte(text)})
	for !s.Flush() {
		<-woken
		s.Resume()
	}
	if bytes.HasPrefix(s.Out, []byte("-")) {
		t.Fatalf("RL.RULES LOAD: %s", s.Out)
	}
	s.Out = s.Out[:0]
}

func TestNoAllocationForChecks(t *testing.T) {
	_, s := checker(t)
	for _, line := range []string{
		"RL.CHECK api user u1", "RL.CHECK api path /login ip 203.0.113.7 ROWS", "RL.CHECK api tenant t1 plan free HITS 2",
		"RL.CHECK api tenant t1 plan pro", "RL.CHECK api user u1 AND tenant t1 plan free PEEK", "RL.SETTLE api user u1 BY 1",
		"RL.CHECK web a b", "RL.CHECK api payer p HITS in=1200 out=300 cached=9000",
		"RL.CHECK api payer p AND payer q HITS in=1200 out=300 ROWS", "RL.SETTLE api payer p BY out=-3 in=2",
	} {
		allocateNothing(t, s, line)
	}
}

// TestChecksDuringLoads loads rules again and again, each with another limit for the day,
// while sessions ask. A check that starts after the answer to a load tells the limit of that
// load or of a later load, and no check is lost.
func TestChecksDuringLoads(t *testing.T) {
	const loads, askers = 40, 4
	text := func(n int) string {
		return fmt.Sprintf("domain: api\nrules: [{name: user, per: [user], limits: [%d/day]}]\n", 1_000_000+n)
	}
	eng := engine.New(engine.Options{Commands: calls.Commands})
	clock := backend.NewTestClock(testStart)
	handler := func() *session.Handler { // with a Keeper of its own, as on another node
		return NewHandler(session.Config{
			Engine: func() *engine.Engine { return eng }, Exec: &backend.Local{Engine: eng, Clock: clock}, Clock: clock,
			Log: slog.New(slog.DiscardHandler),
		})
	}
	h := handler()
	var (
		mu     sync.Mutex
		loaded int // the last load that was answered
		wg     sync.WaitGroup
		asked  [askers]int
		stop   = make(chan struct{})
	)
	woken := make(chan struct{}, 1)
	loader := handler().NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
	load(t, loader, woken, text(0))
	for i := range askers {
		wg.Go(func() {
			woken := make(chan struct{}, 1)
			s := h.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
			line := words(fmt.Sprintf("RL.CHECK api user u%d", i))
			for {
				mu.Lock()
				least := loaded
				mu.Unlock()
				s.Do(line)
				for !s.Flush() {
					<-woken
					s.Resume()
				}
				var allowed, limit, remaining int
				if _, err := fmt.Sscanf(string(s.Out), "*7\r\n:%d\r\n:%d\r\n:%d\r\n", &allowed, &limit, &remaining); err != nil {
					t.Errorf("RL.CHECK: %v in %q", err, s.Out)
					return
				}
				asked[i]++
				if limit < 1_000_000+least || limit-remaining != asked[i] {
					t.Errorf("user %d: check %d has limit %d and remaining %d behind load %d", i, asked[i], limit, remaining, least)
					return
				}
				s.Out = s.Out[:0]
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for n := 1; n <= loads; n++ {
		load(t, loader, woken, text(n))
		mu.Lock()
		loaded = n
		mu.Unlock()
	}
	close(stop)
	wg.Wait()
}

// TestAsksAgain loads rules between the commands of a pipeline and their execution: then each
// request is parsed and decided again, for its own attributes and form of reply.
func TestAsksAgain(t *testing.T) {
	eng := engine.New(engine.Options{Commands: calls.Commands})
	clock := backend.NewTestClock(testStart)
	start := func() (*session.Session, chan struct{}) {
		woken := make(chan struct{}, 1)
		return NewHandler(session.Config{
			Engine: func() *engine.Engine { return eng }, Exec: &backend.Local{Engine: eng, Clock: clock}, Clock: clock,
			Log: slog.New(slog.DiscardHandler),
		}).NewSession(session.Client{Wake: func() { woken <- struct{}{} }}), woken
	}
	loader, loaderWoken := start()
	s, woken := start()
	load(t, loader, loaderWoken, "domain: api\nrules: [{name: user, per: [user], limits: [8/day]}]\n")
	flush := func() (replies string) {
		for !s.Flush() {
			<-woken
			s.Resume()
		}
		replies, s.Out = string(s.Out), s.Out[:0]
		return replies
	}
	s.Do(words("RL.CHECK api user u1 HITS 4"))
	flush()
	for _, line := range []string{"RL.CHECK api user u1", "RL.CHECK api user u2 ROWS", "RL.CHECK api user u1 HITS 2",
		"RL.CHECK api user u2 PEEK"} {
		s.Do(words(line))
	}
	load(t, loader, loaderWoken, "domain: api\nrules: [{name: user, per: [user], limits: [9/day]}]\n")
	want := "*7 :1 :9 :4 :0 :80000000 $14 user/fixed-day $2 ok" +
		" *8 :1 :9 :8 :0 :80000000 $14 user/fixed-day $2 ok *1 *8 $14 user/fixed-day :1 :9 :8 :0 :80000000 $8 enforced :0" +
		" *7 :1 :9 :2 :0 :80000000 $14 user/fixed-day $2 ok *7 :1 :9 :8 :0 :80000000 $14 user/fixed-day $2 ok"
	if got := strings.Join(strings.Fields(flush()), " "); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestRulesAreCompiledBeforeARequest: a node that applies a load of another node compiles the
// rules without a request, also if it did so before it had a handler.
func TestRulesAreCompiledBeforeARequest(t *testing.T) {
	var log testwait.Log
	eng := engine.New(engine.Options{Commands: calls.Commands})
	clock, notices := backend.NewTestClock(testStart), new(engine.Notices)
	config := session.Config{
		Engine: func() *engine.Engine { return eng }, Exec: &backend.Local{Engine: eng, Clock: clock, Notices: notices},
		Clock: clock, Log: slog.New(slog.DiscardHandler),
	}
	loading := NewHandler(config)
	config.Notices, config.Log = notices, log.Logger()
	NewHandler(config)
	woken := make(chan struct{}, 1)
	s := loading.NewSession(session.Client{Wake: func() { woken <- struct{}{} }})
	load(t, s, woken, checkRules)
	log.Await(t, `msg="rules in use" version=1`)
	var later testwait.Log
	config.Rules, config.Log = nil, later.Logger()
	NewHandler(config)
	later.Await(t, `msg="rules in use" version=1`)
}

// BenchmarkCheck compares pipelines of 64 RL.CHECKs that meet one limit, or two, with
// pipelines of RL.ALL on the same limits.
//
//	go test ./commands -run=- -bench=Check
func BenchmarkCheck(b *testing.B) {
	const slide, day = "SLIDE rule:api|%[1]s|u1#SLIDE:slide-1m 1000000 1m 1",
		" FIXED rule:api|%[1]s|u1#FIXED:fixed-day 100000000 day 1"
	for _, rule := range []struct{ name, limits string }{{"key", slide}, {"user", slide + day}} {
		for name, line := range map[string]string{
			"check": "RL.CHECK api " + rule.name + " u1", "all": "RL.ALL " + fmt.Sprintf(rule.limits, rule.name),
		} {
			b.Run(fmt.Sprintf("%s/%s", rule.name, name), func(b *testing.B) {
				_, s := checker(b)
				args := words(line)
				b.ReportAllocs()
				for i := 0; i < b.N; i += 64 {
					for range 64 {
						s.Do(args)
					}
					s.Flush()
					s.Out = s.Out[:0]
				}
			})
		}
	}
}
