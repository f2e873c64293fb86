package checks

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"limitsrv/commands/rules"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// TestBindOnly compares bindOnly with bindAny on random rows.
func TestBindOnly(t *testing.T) {
	seed := testwait.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	reasons := map[Reason]int{}
	for range 2000 {
		quota := random.Int64N(20)
		limit := rules.Limit{Quota: quota, Grace: random.Int64N(3), NearAbove: quota * 8 / 10}
		remaining := random.Int64N(limit.Quota + limit.Grace + 1)
		row := Row{Allowed: random.IntN(2) == 0, Limit: quota, Remaining: remaining, WaitMillis: random.Int64N(4) - 1,
			ResetMillis: random.Int64N(9), Name: "r/l"}
		met := Met{Limit: &limit, Mode: []rules.Mode{rules.Enforced, rules.Quota}[random.IntN(2)],
			Descriptor: uint8(random.IntN(3)), Guard: -1, op: 1}
		ds := []engine.Decision{{}, {Params: engine.Params{Limit: 20}, Remaining: remaining}}
		answer := func(bind func(*Answer)) Answer {
			a := Answer{Binding: -1, Descriptor: -1, Rows: []Row{row}, Met: []Met{met}}
			bind(&a)
			return a
		}
		got := answer(func(a *Answer) { a.bind(ds) })
		want := answer(func(a *Answer) { a.bindAny(ds) })
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %+v of %+v\n got %+v\nwant %+v", seed, row, met, got, want)
		}
		reasons[got.Reason]++
	}
	for _, r := range []Reason{OK, Near, Grace, Limited, Quota} {
		if reasons[r] == 0 {
			t.Errorf("seed %d: no answer was %v", seed, r)
		}
	}
}
