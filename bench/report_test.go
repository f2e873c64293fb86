package main

import (
	"strings"
	"testing"
	"time"
)

// rounds are samples of so many decisions per second each, at a microsecond of
// CPU per decision.
func rounds(rates ...float64) []sample {
	var all []sample
	for _, rate := range rates {
		all = append(all, sample{outcome{perSecond: rate, p50: time.Millisecond, p99: 2 * time.Millisecond, p999: 3 * time.Millisecond}, time.Microsecond})
	}
	return all
}

var fullReport = report{
	setting: "a machine.",
	duels: []duel{
		{targetLoad(1), rounds(100e3, 110e3, 90e3), rounds(100e3, 100e3, 100e3)},
		{targetLoad(16), rounds(400e3), rounds(100e3)},
		{targetLoad(64), rounds(1.2e6), rounds(100e3)},
	},
	ours: &growth{
		stages: []stage{{1_000_000, 60, 5e5}, {3_000_000, 62, 5e5}, {10_000_000, 65, 5e5}},
		pause:  latency{time.Millisecond, 4 * time.Millisecond},
	},
	theirs: &growth{
		stages: []stage{{1_000_000, 180, 1e5}, {3_000_000, 180, 1e5}, {10_000_000, 180, 1e5}},
		pause:  latency{time.Millisecond, 40 * time.Millisecond},
	},
}

func TestReportPutsRatiosFirst(t *testing.T) {
	var out strings.Builder
	if err := fullReport.write(&out, options{markdown: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| token, uniform, 50 conn, pipeline 1 | 1.00x ±10 % | 1.00x ±0 % | 100 k/s ±10 %, 1.00 µs, 1.00 / 2.00 / 3.00 ms |",
		"| token, uniform, 50 conn, pipeline 64 | 12.00x ±0 % | 1.00x ±0 % | 1.2 M/s ±0 %,",
		"| resident bytes per key, 3 M token buckets | 5.00x ±0 % | 0.34x ±0 % | 62.0, filled at 500 k/s | 180.0, filled at 100 k/s |",
		"| worst pause, growing from 1 M to 10 M keys |  | 0.10x ±0 % | 4.00 ms, p99.9 1.00 ms",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}

func TestTargets(t *testing.T) {
	want := []string{"met", "NOT MET", "NOT MET", "met", "met", "met", "NOT MET"}
	for i, row := range fullReport.targetRows()[1:] {
		if got := row[len(row)-1]; got != want[i] {
			t.Errorf("%v: want %s", row, want[i])
		}
	}
	for _, row := range (report{}).targetRows()[1:] {
		if got := row[len(row)-1]; got != "not measured" {
			t.Errorf("%v of an empty report: want not measured", row)
		}
	}
}

func TestQuickIsHeldAgainstNoTarget(t *testing.T) {
	var out strings.Builder
	if err := fullReport.write(&out, options{quick: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "target") {
		t.Errorf("a quick report speaks of targets:\n%s", out.String())
	}
}
