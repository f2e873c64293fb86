package checks

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"limitsrv/commands/reservations"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// namedRules have weights with fractions, a limit in shadow, and a limit without weights.
const namedRules = `
domain: llm
rules:
  - {name: calls, per: [tenant], limits: [1000000/day fixed]}
  - {name: tokens, per: [tenant], limits: [{count: 1000000, window: day, algorithm: log, weights: {in: 1, out: 1}}]}
  - name: spend
    per: [tenant]
    limits: [{count: 900000000, window: day, algorithm: fixed, weights: {in: 2.512345, out: 10.000001, cached: 0.25}}]
  - {name: trial, per: [tenant], limits: [{count: 90000000, window: day, weights: {cached: 0.5}}], shadow: true}
`

func randomAmounts(r *rand.Rand) (all []weighing.Amount) {
	for _, i := range r.Perm(3)[:1+r.IntN(3)] {
		n := r.Int64N([]int64{1, 9, 900}[r.IntN(3)])
		all = append(all, weighing.Amount{Name: []byte([]string{"in", "out", "cached"}[i]), N: n})
	}
	return all
}

// TestNamedCommits: after a reservation and its commit the limits have taken as much as RL.CHECK takes of the
// committed amounts.
func TestNamedCommits(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	x, plain := newBench(t, namedRules), newBench(t, namedRules)
	for i := range 400 {
		q := request("llm tenant a")
		q.Amounts, q.Reserve, q.Terms.TTL = randomAmounts(r), fmt.Append(nil, "id", i), 1e9
		x.ask(q)
		used := randomAmounts(r)
		if r.IntN(4) == 0 { // late
			x.Now, plain.Now = x.Now+2e9, plain.Now+2e9
		}
		for range 2 {
			r.Shuffle(len(used), func(i, j int) { used[i], used[j] = used[j], used[i] })
			settled, err := x.Settle(func(b *engine.Batch) { reservations.CommitNamed(b, q.Reserve, used) })
			if err != nil || !settled.Done {
				t.Fatalf("reservation %d of %v, commit of %v: %+v, %v", i, q.Amounts, used, settled, err)
			}
		}
		as := request("llm tenant a")
		as.Amounts = used
		plain.ask(as)
		look := request("llm tenant a")
		look.Hits = 0
		if got, want := x.ask(look).rows(), plain.ask(look).rows(); got != want {
			t.Fatalf("reservation %d of %v, commit of %v: %s, want %s", i, q.Amounts, used, got, want)
		}
	}
}

// TestNamesToCommit: a commit may have the names of the request and the names that its limits weigh. A limit of 0
// and a limit with quota decide as without RESERVE.
func TestNamesToCommit(t *testing.T) {
	x := newBench(t, `
domain: llm
rules:
  - {name: spend, per: [tenant], limits: [9/h weights out=2]}
  - {name: first, match: {plan: two}, limits: [1/h weights in=1], quota: true}
  - {name: second, match: {plan: two}, limits: [1/h weights more=1], quota: true}
  - {name: closed, match: {plan: none}, limits: [0/h weights more=1]}
  - {name: box, match: {plan: box}, limits: [1/h weights more=1], penalty: {after: 1, within: 10m, block: 1m}}
`)
	x.ask(weighed("llm plan box HITS more=2"))
	for _, tt := range []struct{ line, rows, names string }{
		{"llm tenant a HITS in=1", "spend 9", "in out"},
		{"llm tenant a HITS in=1 more=0", "spend 9", "in more out"},
		{"llm other a HITS in=1", "", "in"},
		{"unknown a b HITS in=1 =2", "", "in"},
		{"llm tenant a plan two HITS in=1", "spend 9, first 0", "in out"},
		{"llm tenant b plan two HITS in=2", "spend 9, -first 0", "in out"},
		{"llm tenant a plan none HITS in=2", "spend 9", "in out"},
		{"llm tenant a plan box HITS in=2", "spend 9, box 1", "in more out"},
		{"llm tenant a HITS 1", "spend 8", ""},
	} {
		q := weighed(tt.line)
		if strings.HasSuffix(tt.line, " 1") {
			q.Amounts = nil
		}
		q.Reserve, q.Terms.TTL = []byte("id "+tt.line), 1e9
		a := x.ask(q)
		terms, _ := x.check.Reserves(q)
		if names := fmt.Sprintf("%s", terms.Names); a.rows() != tt.rows || names != "["+tt.names+"]" {
			t.Errorf("%s: %s, names %s; want %s, %s", tt.line, a.rows(), names, tt.rows, tt.names)
		}
	}
}

// TestManyNames: the limits of a reservation weigh a bounded number of amounts.
func TestManyNames(t *testing.T) {
	var text strings.Builder
	text.WriteString("domain: llm\nrules:\n")
	for i := range 17 {
		fmt.Fprintf(&text, "  - {name: r%d, per: [tenant], limits: [9/h weights", i)
		for j := range weighing.MostNames {
			fmt.Fprintf(&text, " n%d-%d=1", i, j)
		}
		text.WriteString("]}\n")
	}
	x := newBench(t, text.String())
	q := weighed("llm tenant a HITS n1-1=1")
	x.ask(q)
	q.Reserve, q.Terms.TTL = []byte("id"), 1e9
	if _, err := x.Ask(q); err == nil ||
		err.Error() != "ERR with RESERVE the limits of a request may weigh 256 amounts, got 272" {
		t.Error(err)
	}
}

// TestNamesForOlderNodes: while a node of the cluster is older, a reservation is made in the older form, and takes
// what it takes in the new form.
func TestNamesForOlderNodes(t *testing.T) {
	x := newBench(t, namedRules)
	of := func(features uint8) (*engine.Call, []engine.Op) {
		b := engine.Batch{Features: features}
		q := weighed("llm tenant a HITS in=5")
		q.Reserve, q.Terms.TTL = []byte("id"), 1e9
		if err := x.check.Append(&b, x.state, x.Now, q); err != nil {
			t.Fatal(err)
		}
		terms, _ := x.check.Reserves(q)
		reservations.Reserve(&b, 0, q.Reserve, terms)
		return &b.Calls[0], reservations.OpsOf(&b.Calls[0])
	}
	older, few := of(engine.NamedFeatures - 1)
	newer, all := of(engine.NamedFeatures)
	if a, b := reservations.CallName(older.Command), reservations.CallName(newer.Command); a != "RL.RESERVE" ||
		b != "RL.RESERVE amounts" || len(few) != 4 || len(all) != 5 {
		t.Errorf("%s with %d ops, %s with %d ops", a, len(few), b, len(all))
	}
}
