package main

import (
	"math"
	"slices"
)

// A figure summarizes several rounds of a measurement.
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

// column returns a figure of every round.
func column[T any](rounds []T, of func(T) float64) []float64 {
	var all []float64
	for _, r := range rounds {
		all = append(all, of(r))
	}
	return all
}

// median is the median of a figure of all rounds.
func median[T any](rounds []T, of func(T) float64) float64 {
	return figureOf(column(rounds, of)).median
}

// ratioOf divides a figure of ours by the same figure of theirs, in each round.
func ratioOf[T any](ours, theirs []T, of func(T) float64) figure {
	return figureOf(ratios(column(ours, of), column(theirs, of)))
}

// speedup is the ratio of our decisions per second to theirs.
func speedup(ours, theirs []sample) figure { return ratioOf(ours, theirs, perSecond) }

func perSecond(s sample) float64  { return s.perSecond }
func cpuMicros(s sample) float64  { return float64(s.cpu[0]) / 1e3 }
func p50Millis(s sample) float64  { return s.p50.Seconds() * 1e3 }
func p99Millis(s sample) float64  { return s.p99.Seconds() * 1e3 }
func p999Millis(s sample) float64 { return s.p999.Seconds() * 1e3 }
