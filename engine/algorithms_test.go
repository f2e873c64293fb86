package engine

import "testing"

// Each algorithm has a limiter for its keys with a past, too.
func TestEachAlgorithmHasBothLimiters(t *testing.T) {
	for a := range algs {
		if algorithms[a].limiter == nil || limitersWithPast[a] == nil {
			t.Errorf("%v: limiter %T, with a past %T, want both", a, algorithms[a].limiter, limitersWithPast[a])
		}
	}
}
