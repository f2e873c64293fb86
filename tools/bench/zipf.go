package main

import (
	"math"
	"math/rand/v2"
	"sort"
)

// zipfExponent is the skew of the YCSB benchmark: of a million keys the most frequent key
// gets 7 % of all requests.
const zipfExponent = 0.99

// zipfTrace draws length keys of 0..keys-1, key i with a weight of
// 1/(i+1)^zipfExponent. The same seed gives the same trace, so that both sides of a
// pair get the same requests.
//
// Cost: 8 bytes per key while it runs.
func zipfTrace(keys, length int, seed uint64) []uint32 {
	cumulative := make([]float64, keys)
	total := 0.0
	for i := range cumulative {
		total += math.Pow(float64(i+1), -zipfExponent)
		cumulative[i] = total
	}
	random := rand.New(rand.NewPCG(seed, seed))
	trace := make([]uint32, length)
	for i := range trace {
		at := random.Float64() * total
		trace[i] = uint32(min(sort.SearchFloat64s(cumulative, at), keys-1))
	}
	return trace
}
