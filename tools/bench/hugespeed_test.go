package main

import (
	"slices"
	"testing"
)

func TestHugeFits(t *testing.T) {
	const keys = 1_000_000
	for _, tt := range []struct {
		name      string
		available int64
		together  bool
		fails     bool
	}{
		{"both at a time", 1_210_000_000, true, false},
		{"not quite both", 1_209_999_999, false, false},
		{"one at a time", 1_150_000_000, false, false},
		{"not even one", 1_149_999_999, false, true},
	} {
		if got, err := hugeFits(tt.available, keys); got != tt.together || (err != nil) != tt.fails {
			t.Errorf("%s: hugeFits(%d) = %v, %v", tt.name, tt.available, got, err)
		}
	}
}

func TestHugeSpeedVerdicts(t *testing.T) {
	filled := stage{bytesPerKey: 50, growthPerSec: 1e6}
	for _, tt := range []struct {
		name    string
		keys    int
		rate    float64
		verdict string
	}{
		{"as fast as wanted", hugeGoalKeys, 800e3, "met"},
		{"slower than wanted", hugeGoalKeys, 799e3, "NOT MET"},
		{"too few keys for a verdict", hugeGoalKeys - 1, 800e3, ""},
	} {
		e := emptyReport(options{})
		l := usualLoad(lastingGCRA, hugePipeline, tt.keys)
		e.addHugeSpeed(l, "in alternating rounds", hugeSpeedResult{filled, rounds(tt.rate)},
			hugeSpeedResult{filled, rounds(100e3)})
		speed := e.tables[hugePairTable][0]
		if got := speed[len(speed)-2:]; !slices.Equal(got, row{"at least 8x", tt.verdict}) {
			t.Errorf("%s: row %q, want the verdict %q", tt.name, speed, tt.verdict)
		}
	}
}
