package limiters

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"limitsrv/engine"
)

// TestRatesOfNineDecimals parses rates of up to nine decimals over the whole range, from 1
// in ten years to a billion a second: each is held exactly, or rejected if it is out of
// range.
func TestRatesOfNineDecimals(t *testing.T) {
	slowest := new(big.Rat).SetFrac64(1e9, engine.MaxPeriod)
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.SampledFrom([]int64{0, 9, 1000, 1e6, 1e9}).Draw(t, "most")
		arg := fmt.Sprint(rapid.Int64Range(0, most).Draw(t, "whole"))
		if decimals := rapid.IntRange(0, 9).Draw(t, "decimals"); decimals > 0 {
			arg += fmt.Sprintf(".%0*d", decimals, rapid.Int64Range(0, int64(pow10[decimals])-1).Draw(t, "fraction"))
		}
		want, _ := new(big.Rat).SetString(arg)
		inRange := want.Cmp(slowest) >= 0 && want.Cmp(big.NewRat(1e9, 1)) <= 0
		count, period, err := parseRate([]byte(arg))
		if (err == nil) != inRange {
			t.Fatalf("parseRate(%s): %v, but the rate is in range: %t", arg, err, inRange)
		}
		if !inRange {
			return
		}
		got := new(big.Rat).SetFrac64(count, period)
		if got.Mul(got, big.NewRat(1e9, 1)).Cmp(want) != 0 {
			t.Fatalf("parseRate(%s) = %d per %d ns, which is %v a second", arg, count, period, got)
		}
		p := engine.Params{Alg: engine.Token, Limit: engine.MaxLimit, Count: count, Period: period}
		if err := p.Check(); err != nil {
			t.Fatalf("parseRate(%s): %v", arg, err)
		}
	})
}
