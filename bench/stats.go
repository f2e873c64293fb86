package main

import (
	"math"
	"slices"
)

// A figure is what several rounds measured of one thing.
type figure struct {
	median float64
	// spread is half of the distance from the least to the largest, as a share
	// of the median: 0.03 reads "plus or minus 3 %".
	spread float64
}

// figureOf sums up rounds; a figure of none is 0.
func figureOf(rounds []float64) figure {
	if len(rounds) == 0 {
		return figure{}
	}
	sorted := slices.Sorted(slices.Values(rounds))
	middle := len(sorted) / 2
	f := figure{median: sorted[middle]}
	if len(sorted)%2 == 0 {
		f.median = (sorted[middle-1] + sorted[middle]) / 2
	}
	if f.median != 0 {
		f.spread = (sorted[len(sorted)-1] - sorted[0]) / 2 / math.Abs(f.median)
	}
	return f
}

// ratios divides ours by theirs, round by round: what disturbs the machine for
// longer than a round falls on both and drops out. A round in which either is
// not there is left out.
func ratios(ours, theirs []float64) []float64 {
	var all []float64
	for i := range min(len(ours), len(theirs)) {
		if ours[i] > 0 && theirs[i] > 0 {
			all = append(all, ours[i]/theirs[i])
		}
	}
	return all
}
