package checks

import (
	"fmt"
	"testing"

	"limitsrv/commands/weighing"
	"limitsrv/engine"
)

// TestLooks: a look has the answer of the request: the same decision, and the same wait. A
// request of 0 hits passes as long as a token is left, and takes no token.
func TestLooks(t *testing.T) {
	for _, limit := range []string{"3/hour", "3/hour fixed", "3/hour slide", "3/hour leaky", "3/hour log", "0/hour"} {
		x := newBench(t, "domain: d\nrules: [{name: r, per: [u], limits: "+limit+"}]\n")
		ask := func(hits int64, peek bool) string {
			q := request("d u 1")
			q.Hits, q.Peek = hits, peek
			a := x.ask(q)
			return fmt.Sprint(a.Allowed, a.WaitMillis, a.Reason == Limited)
		}
		for range 4 {
			for _, hits := range []int64{1, 2, 4} {
				// A request of 4 is denied, and changes nothing.
				if got := ask(hits, true); hits == 4 && got != ask(hits, false) {
					t.Errorf("%s: a look for %d is told %s", limit, hits, got)
				}
			}
			look := ask(1, true)
			nothing := ask(0, false)
			real := ask(1, false)
			if look[:4] != real[:4] || real[0] == 'f' && look != real {
				t.Errorf("%s: a look for 1 is told %s, the request %s", limit, look, real)
			}
			if limit != "0/hour" && nothing[0] != real[0] {
				t.Errorf("%s: 0 hits are told %s, then 1 %s", limit, nothing, real)
			}
		}
	}
}

// TestReports: a denied request with tokens of its own descriptors reports usage, which is charged
// up to another limit. Each limit records as many tokens as fit. The reason is not near after a
// settlement returns tokens to a full limit.
func TestReports(t *testing.T) {
	x := newBench(t, "domain: d\nrules: [{name: r, per: [u], limits: [10/hour fixed, 100/day fixed]}]\n")
	q := request("d u 1")
	q.Own = []int64{25}
	if a := x.ask(q); a.Allowed || a.Rows[1].Remaining != 100 {
		t.Fatalf("25 of 10: %+v", a)
	}
	if !q.Report() {
		t.Fatal("it reports nothing")
	}
	if a := x.ask(q); a.Rows[0].Allowed || a.Rows[0].Remaining != 0 || !a.Rows[1].Allowed || a.Rows[1].Remaining != 75 {
		t.Errorf("the report of 25: %+v", a.Rows)
	}
	q = request("d u 2")
	q.Settle = 5
	x.ask(q)
	q.Settle = -5
	if a := x.ask(q); a.Reason != OK || a.Remaining != 10 {
		t.Errorf("5 returned: %+v", a)
	}
	if a := x.ask(q); a.Reason != OK || a.Remaining != 10 {
		t.Errorf("5 returned to a full limit: %+v", a)
	}
	for _, own := range [][]int64{nil, {-1}, {0}} {
		q = request("d u 1")
		if q.Own = own; q.Report() {
			t.Errorf("tokens %v are a report", own)
		}
	}
}

// TestSettlementsNeedQuorum: no policy for a cluster without a majority answers a settlement that meets
// a limit, because nobody would record it. Other requests, and reports, have the policy of their domain.
func TestSettlementsNeedQuorum(t *testing.T) {
	for word, want := range map[string]engine.NoQuorum{
		"": engine.NoQuorumDefault, "no_quorum: allow": engine.NoQuorumAllow, "no_quorum: deny": engine.NoQuorumDeny,
		"no_quorum: local": engine.NoQuorumLocal,
	} {
		x := newBench(t, "domain: d\n"+word+"\nrules: [{name: r, per: [u], limits: 10/hour weights in=1}]\n")
		for line, settle := range map[string]int64{"d u 1": 0, "d u 2": 5, "d u 3": -5, "d x 1": 5} {
			q := request(line)
			q.Settle = settle
			var (
				c Check
				b engine.Batch
			)
			if err := c.Append(&b, x.state, 0, q); err != nil {
				t.Fatal(err)
			}
			due := want
			if line[2] == 'u' && settle != 0 {
				due = engine.NoQuorumError
			}
			if got := b.Ops[0].NoQuorum; got != due {
				t.Errorf("%q: %s settles %d with the policy %d, want %d", word, line, settle, got, due)
			}
		}
		q := request("d u 4")
		q.Used, q.Amounts = true, []weighing.Amount{{Name: []byte("in"), N: 5}}
		var b engine.Batch
		if err := new(Check).Append(&b, x.state, 0, q); err != nil || b.Ops[0].NoQuorum != engine.NoQuorumError {
			t.Errorf("%q: used amounts have the policy %d, %v", word, b.Ops[0].NoQuorum, err)
		}
		q, b = request("d u 1"), engine.Batch{}
		q.Own = []int64{5}
		q.Report()
		if err := new(Check).Append(&b, x.state, 0, q); err != nil || b.Ops[0].NoQuorum != want {
			t.Errorf("%q: usage has the policy %d, %v", word, b.Ops[0].NoQuorum, err)
		}
	}
}
