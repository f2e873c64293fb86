package rules

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/weighing"
	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// weighExactly is weigh with fractions: the sum of the products, rounded up.
func weighExactly(weights map[string]*big.Rat, amounts []weighing.Amount) *big.Int {
	sum := new(big.Rat)
	for _, a := range amounts {
		if w := weights[string(a.Name)]; w != nil {
			sum.Add(sum, new(big.Rat).Mul(w, new(big.Rat).SetInt64(a.N)))
		}
	}
	floor, rest := new(big.Int).DivMod(sum.Num(), sum.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		floor.Add(floor, big.NewInt(1))
	}
	return floor
}

// randomWeight returns the text of a weight, mostly of a few digits.
func randomWeight(r *rand.Rand) string {
	text := fmt.Sprint(r.Int64N([]int64{1, 20, 10_000, weighing.MaxWeight}[r.IntN(4)]))
	if decimals := r.IntN(7); decimals > 0 {
		text += fmt.Sprintf(".%0*d", decimals, r.IntN([]int{1, 10, 100, 1000, 1e4, 1e5, 1e6}[decimals]))
	}
	return text
}

// TestWeigh compares random weights, read from a limit, and sums of random amounts with fractions.
func TestWeigh(t *testing.T) {
	seed := testwait.Seed(t)
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	names := []string{"in", "out", "cached", "audio", "images"}
	limit := new(big.Int).SetInt64(engine.MaxN)
	within, beyond := 0, 0
	for range 20_000 {
		weights, line := map[string]*big.Rat{}, "1/s weights"
		for _, name := range names[:1+r.IntN(len(names))] {
			text := randomWeight(r)
			weights[name], _ = new(big.Rat).SetString(text)
			line += " " + name + "=" + text
		}
		l, err := source.ParseLimit(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		for _, w := range l.Weights {
			if big.NewRat(w.Millionths, 1e6).Cmp(weights[w.Name]) != 0 {
				t.Fatalf("%s: %s has %d millionths", line, w.Name, w.Millionths)
			}
		}
		again, err := source.ParseLimit("1/s weights " + string(source.AppendWeights(nil, l.Weights)))
		if err != nil || !slices.Equal(again.Weights, l.Weights) {
			t.Fatalf("%s is written as %s: %v", line, source.AppendWeights(nil, l.Weights), err)
		}
		var amounts []weighing.Amount
		for _, name := range names {
			most := []int64{1, 100, 1_000_000, engine.MaxN}[r.IntN(4)]
			if n := r.Int64N(2*most+1) - most; r.IntN(3) > 0 {
				amounts = append(amounts, weighing.Amount{Name: []byte(name), N: n})
			}
		}
		want := weighExactly(weights, amounts)
		n, ok := weigh(l.Weights, amounts)
		if fits := want.CmpAbs(limit) <= 0; ok != fits || fits && want.Int64() != n {
			t.Fatalf("%s: %v weigh %d %v, want %v", line, amounts, n, ok, want)
		} else if fits {
			within++
		} else {
			beyond++
		}
	}
	if within < 5000 || beyond < 1000 {
		t.Errorf("%d sums are within the bounds, %d beyond", within, beyond)
	}
}

// TestWeighBounds weighs the most that a request may have.
func TestWeighBounds(t *testing.T) {
	line, amounts := "1/s weights", []weighing.Amount(nil)
	for i := range weighing.MostNames {
		name := fmt.Sprintf("n%d", i)
		line += fmt.Sprintf(" %s=%d", name, int64(weighing.MaxWeight))
		amounts = append(amounts, weighing.Amount{Name: []byte(name), N: engine.MaxN})
	}
	l, err := source.ParseLimit(line)
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := weigh(l.Weights, amounts); ok {
		t.Errorf("the greatest sum is %d", n)
	}
	for i := range amounts[1:] {
		amounts[i].N = -amounts[i].N
	}
	if n, ok := weigh(l.Weights, amounts); ok {
		t.Errorf("the least sum is %d", n)
	}
	for i := range amounts {
		amounts[i].N = engine.MaxN
		if i%2 == 0 {
			amounts[i].N = -engine.MaxN
		}
	}
	if n, ok := weigh(l.Weights, amounts); n != 0 || !ok {
		t.Errorf("equal sums weigh %d, %v", n, ok)
	}
}

// TestAmountsBetween requires that requests with amounts leave no trace in the next requests without
// any, whose limits are mostly found by those of the last.
func TestAmountsBetween(t *testing.T) {
	set, err := Load([]source.File{{Name: "f", Text: []byte("domain: api\nrules:\n" +
		"  - {name: a, per: [user], limits: [5/s, 9/m weights in=1]}\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	for i, amounts := range []string{"", "", "in=1", "", "", "in=0", "", "in=3", "in=2", "", "in=0", "in=0", ""} {
		line, want := "user u", "1 1"
		if amounts != "" {
			line += " HITS " + amounts
			if want = "1 " + amounts[3:]; amounts == "in=0" {
				want = "1"
			}
		}
		if err := set.Match(parseRequest("api", line), nil, 1, &r); err != nil {
			t.Fatal(err)
		}
		var hits []string
		for _, m := range r.Limits {
			if amounts == "" {
				m.Hits = 1
			}
			hits = append(hits, fmt.Sprint(m.Hits))
		}
		if got := strings.Join(hits, " "); got != want {
			t.Errorf("request %d, %q: hits %s, want %s", i, amounts, got, want)
		}
		r.Release()
	}
}
