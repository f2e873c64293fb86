package main

import (
	"math"
	"slices"
	"testing"
)

// The frequencies of keys in a trace match their weights within five standard
// deviations.
func TestZipfTraceFollowsItsWeights(t *testing.T) {
	const keys, length = 1000, 400_000
	total := 0.0
	for i := range keys {
		total += math.Pow(float64(i+1), -zipfExponent)
	}
	counts := make([]float64, keys)
	for _, key := range zipfTrace(keys, length, 7) {
		counts[key]++
	}
	for _, key := range []int{0, 1, 2, 9, 99, 999} {
		share := math.Pow(float64(key+1), -zipfExponent) / total
		want := share * length
		deviation := math.Sqrt(want * (1 - share))
		if math.Abs(counts[key]-want) > 5*deviation {
			t.Errorf("key %d occurs %.0f times, want %.0f +- %.0f", key, counts[key], want, deviation)
		}
	}
}

func TestZipfTraceDependsOnItsSeed(t *testing.T) {
	one, same, other := zipfTrace(100, 1000, 1), zipfTrace(100, 1000, 1), zipfTrace(100, 1000, 2)
	if !slices.Equal(one, same) {
		t.Error("one seed generates two traces")
	}
	if slices.Equal(one, other) {
		t.Error("two seeds generate the same trace")
	}
}
