package main

import (
	"math"
	"slices"
)

// A figure summarizes several rounds of one measurement.
type figure struct {
	median float64
	// spread is half of the distance from the minimum to the maximum, as a share of the
	// median: 0.03 reads "plus or minus 3 %".
	spread float64
}

// figureOf summarizes rounds. Without rounds the figure is 0.
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

// ratios divides ours by theirs, round by round: a disturbance of the machine for
// longer than a round affects both and cancels out. A round without a figure of either
// is omitted.
func ratios(ours, theirs []float64) []float64 {
	var all []float64
	for i := range min(len(ours), len(theirs)) {
		if ours[i] > 0 && theirs[i] > 0 {
			all = append(all, ours[i]/theirs[i])
		}
	}
	return all
}
