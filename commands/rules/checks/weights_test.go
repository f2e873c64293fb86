package checks

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"limitsrv/commands/weighing"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

const budgetRules = `
domain: llm
rules:
  - name: calls
    per: [tenant]
    limits: [3/minute]
    penalty: {after: 2, within: 10m, block: 1m}
  - name: tokens
    per: [tenant]
    limits: [{count: 1000, window: 1h, algorithm: fixed, name: all, weights: {in: 1, out: 1}}]
  - name: spend
    per: [tenant]
    tier: model
    limits:
      big: [{count: 5000, window: month, name: money, weights: {in: 2.50, out: 10, cached: 0.25}}]
      default: [{count: 5000, window: month, name: money, weights: {in: 0.4, out: 1.6, cached: 0}}]
  - {name: trial, per: [tenant], limits: [{count: 10, window: 1h, weights: {out: 1}}], shadow: true}
  - {name: jobs, match: {job: "yes"}, per: [tenant], limits: [2 at once ttl 30s]}
`

// weighed makes a request of a line as request does, with amounts NAME=N after HITS or BY.
func weighed(line string) *Request {
	line, amounts, taken := strings.Cut(line, " HITS ")
	if !taken {
		line, amounts, _ = strings.Cut(line, " BY ")
	}
	q := request(line)
	q.Used = !taken && amounts != ""
	for _, amount := range strings.Fields(amounts) {
		name, text, _ := strings.Cut(amount, "=")
		n, _ := strconv.ParseInt(text, 10, 64)
		q.Amounts = append(q.Amounts, weighing.Amount{Name: []byte(name), N: n})
	}
	return q
}

// rows returns the names of the limits with their remaining tokens, with - before those that deny.
func (a *Answer) rows() string {
	var all []string
	for i := range a.Rows {
		name, _, _ := strings.Cut(a.Rows[i].Name, "/")
		if !a.Rows[i].Allowed {
			name = "-" + name
		}
		all = append(all, fmt.Sprint(name, " ", a.Rows[i].Remaining))
	}
	return strings.Join(all, ", ")
}

// TestWeights asks with amounts: each limit takes its own number, all or none.
func TestWeights(t *testing.T) {
	x := newBench(t, budgetRules)
	for i, tt := range []struct{ line, want, rows string }{
		{"llm tenant a model big HITS in=100 out=20 cached=3", "1 3 2 ok", "calls 2, tokens 880, spend 4549, -trial 10"},
		{"llm tenant a model big BY out=-10 cached=1", "1 1000 890 ok", "tokens 890, spend 4648, trial 10"},
		{"llm tenant a model big BY out=5 in=-20", "1 1000 905 ok", "tokens 905, trial 5"},
		{"llm tenant a model small HITS in=5 out=1", "1 3 1 ok", "calls 1, tokens 899, spend 4644, trial 4"},
		{"llm tenant a model small HITS cached=9", "1 3 0 near", "calls 0"},
		{"llm tenant a model small HITS in=1", "0 3 0 limited", "-calls 0, tokens 899, spend 4644"},
		{"llm tenant a model small BY in=1", "1 1000 898 ok", "tokens 898, spend 4643"},
		{"llm tenant a model small BY in=0", "1 -1 -1 none", ""},
		{"llm tenant b model big HITS in=1000 out=1", "0 1000 1000 limited", "calls 3, -tokens 1000, spend 5000, trial 10"},
		{"llm tenant b model big HITS in=10 out=500", "0 5000 5000 limited", "calls 3, tokens 1000, -spend 5000, -trial 10"},
		{"llm tenant b model big HITS in=10 out=11", "1 3 2 ok", "calls 2, tokens 979, spend 4865, -trial 10"},
		{"llm tenant b model big job yes HITS cached=1", "ERR jobs/lease-30s counts leases: ID id is required", ""},
		{"llm tenant b model big HITS cahced=1",
			"ERR amount: one that a limit of llm weighs, got 'cahced'; did you mean cached?", ""},
		{"llm tenant b model big HITS out=1999999999999", "ERR the amounts of the request weigh too much in " +
			"spend/money: from -2000000000001 to 2000000000001 is allowed", ""},
		{"llm tenant b model big", "1 3 1 ok", "calls 1, tokens 978, spend 4864, trial 9"},
		{"other tenant b HITS cahced=1", "1 -1 -1 none", ""},
	} {
		a, err := x.Ask(weighed(tt.line))
		got, rows := "", ""
		if err != nil {
			got = err.Error()
		} else {
			words := strings.Fields(a.text())
			got, rows = strings.Join(append(words[:3:3], words[len(words)-1]), " "), a.rows()
		}
		if got != tt.want || rows != tt.rows {
			t.Errorf("step %d: %s\n got %s; %s\nwant %s; %s", i, tt.line, got, rows, tt.want, tt.rows)
		}
	}
	q := weighed("llm tenant c model big HITS in=100 out=20")
	for range 2 {
		q.Peek = true
		if a := x.ask(q); a.rows() != "calls 3, tokens 1000, spend 5000, -trial 10" {
			t.Errorf("a look: %s", a.rows())
		}
	}
}

// TestWeighedBox: strikes count refusals of requests that take something, and a settlement makes none.
func TestWeighedBox(t *testing.T) {
	x := newBench(t, budgetRules)
	for i, want := range []string{"ok", "ok", "near", "limited", "limited", "blocked"} {
		if a := x.ask(weighed("llm tenant a model big HITS in=1")); a.Reason.String() != want {
			t.Errorf("request %d: %v, want %s", i, a.Reason, want)
		}
		if a := x.ask(weighed("llm tenant a model big BY in=1")); a.Reason != OK {
			t.Errorf("settlement %d: %v", i, a.Reason)
		}
	}
}

// TestBoxOfNothing: the box of a rule with weights is left out with the limits that a request does not
// concern.
func TestBoxOfNothing(t *testing.T) {
	x := newBench(t, `
domain: llm
rules:
  - {name: out, per: [tenant], limits: [1/h weights out=1], penalty: {after: 1, within: 10m, block: 1m}}
  - {name: in, per: [tenant], limits: [9/h weights in=1]}
`)
	for i, tt := range []struct{ amounts, want string }{
		{"HITS out=1 in=1", "near out 0, in 8"}, {"HITS out=1 in=1", "limited -out 0, in 8"}, {"HITS out=1", "blocked "},
		{"HITS in=1", "ok in 7"}, {"HITS in=1 out=0", "ok in 6"}, {"HITS in=1 out=1", "blocked "}, {"BY in=1", "ok in 5"},
	} {
		a := x.ask(weighed("llm tenant a " + tt.amounts))
		if got := fmt.Sprint(a.Reason, " ", a.rows()); got != tt.want {
			t.Errorf("request %d, %s: %s, want %s", i, tt.amounts, got, tt.want)
		}
	}
}

// TestRandomWeights compares the counters after random requests and settlements with exact sums.
func TestRandomWeights(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	x := newBench(t, `
domain: llm
rules:
  - name: spend
    per: [tenant]
    limits: [{count: 1000000000000, window: year, weights: {in: 2.512345, out: 0.000001, x: 7}}]
`)
	weights := map[string]*big.Rat{"in": big.NewRat(2_512_345, 1e6), "out": big.NewRat(1, 1e6), "x": big.NewRat(7, 1)}
	used := int64(0)
	for i := range 3000 {
		q := request("llm tenant a")
		q.Used = r.IntN(2) == 0
		sum := new(big.Rat)
		for _, name := range []string{"in", "out", "x"} {
			n := r.Int64N([]int64{2, 1000, 5_000_000}[r.IntN(3)])
			if q.Used && r.IntN(2) == 0 {
				n = -n
			}
			if r.IntN(3) > 0 {
				q.Amounts = append(q.Amounts, weighing.Amount{Name: []byte(name), N: n})
				sum.Add(sum, new(big.Rat).Mul(weights[name], big.NewRat(n, 1)))
			}
		}
		if len(q.Amounts) == 0 {
			continue
		}
		floor, rest := new(big.Int).DivMod(sum.Num(), sum.Denom(), new(big.Int))
		if used += floor.Int64(); rest.Sign() > 0 {
			used++
		}
		used = max(0, used)
		a := x.ask(q)
		if got := a.Limit - a.Remaining; len(a.Rows) > 0 && got != used {
			t.Fatalf("request %d, %v used %v: %d are used, want %d", i, q.Amounts, q.Used, got, used)
		}
	}
}

// TestWeighedHash requires that requests with other amounts have another hash. So an id of ONCE
// belongs to a single request. HITS and BY with the same amounts differ too.
func TestWeighedHash(t *testing.T) {
	seen := map[uint64]string{}
	for _, line := range []string{"llm tenant a", "llm tenant a HITS in=1", "llm tenant a BY in=1",
		"llm tenant a HITS in=2", "llm tenant a HITS out=1", "llm tenant a HITS in=1 out=1", "llm tenant a BY in=-1"} {
		h := weighed(line).Hash()
		if before := seen[h]; before != "" {
			t.Errorf("%s and %s have the same hash", line, before)
		}
		if seen[h] = line; weighed(line).Hash() != h {
			t.Errorf("%s has several hashes", line)
		}
	}
}

// TestWeighedOps requires that the log gets plain numbers: the ops of a request with amounts are those
// of limits that are asked for these numbers.
func TestWeighedOps(t *testing.T) {
	x := newBench(t, budgetRules)
	var b engine.Batch
	if err := x.check.Append(&b, x.state, x.Now, weighed("llm tenant a model big HITS in=100 out=20")); err != nil {
		t.Fatal(err)
	}
	var ns []string
	for i := range b.Ops {
		if op := &b.Ops[i]; op.Kind == engine.Take && op.Mode != engine.Guard {
			ns = append(ns, fmt.Sprint(string(op.Key[:bytes.IndexByte(op.Key, '#')]), " ", op.N))
		}
	}
	want := "rule:llm|tokens|a 120, rule:llm|spend|a 450, rule:llm|trial|a 20, rule:llm|calls|a 1"
	if got := strings.Join(ns, ", "); got != want {
		t.Errorf("the ops take %s, want %s", got, want)
	}
}
