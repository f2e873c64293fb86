package main

import (
	"strings"
	"testing"
	"time"
)

// rounds returns samples with the given decisions per second and a microsecond of CPU
// per decision.
func rounds(rates ...float64) []sample {
	var all []sample
	for _, rate := range rates {
		seen := latency{p50: time.Millisecond, p99: 2 * time.Millisecond, p999: 3 * time.Millisecond}
		all = append(all, sample{outcome: outcome{perSecond: rate, latency: seen}, cpu: []time.Duration{time.Microsecond}})
	}
	return all
}

// emptyReport returns the surroundings of experiments with an empty report.
func emptyReport(o options) *env {
	return &env{options: o, report: &report{setting: "a machine."}, say: func(string, ...any) {}}
}

// fullReport returns an env with a report that has the figures of each goal.
func fullReport(o options) *env {
	o.snapshotKeys, o.rate = 10_000_000, 20_000
	e := emptyReport(o)
	e.addPair(targetLoad(tokenBucket, 1), rounds(100e3, 110e3, 90e3), rounds(100e3, 100e3, 100e3))
	e.addPair(targetLoad(tokenBucket, 16), rounds(400e3), rounds(100e3))
	e.addPair(targetLoad(tokenBucket, 64), rounds(1.4e6), rounds(100e3))
	e.addPair(targetLoad(slidingLog, 64), rounds(500e3), rounds(100e3))
	e.addResets(rounds(100e3), rounds(100e3))
	e.addDropins(dropinResults())
	dear := rounds(100e3)
	dear[0].cpu = []time.Duration{2 * time.Microsecond}
	e.addRuleCost(ruleCosts[0], 16, rounds(100e3), rounds(100e3))
	e.addRuleCost(ruleCosts[0], 64, rounds(100e3), rounds(100e3))
	e.addRuleCost(ruleCosts[1], 16, dear, rounds(100e3))
	e.addRuleCost(ruleCosts[1], 64, rounds(100e3), dear)
	e.addRuleCost(ruleCosts[2], 16, rounds(100e3), dear)
	e.addRuleCost(ruleCosts[2], 64, dear, rounds(100e3))
	e.addGrowth(
		growthResult{
			stages: []stage{{1_000_000, 60, 5e5}, {3_000_000, 62, 5e5}, {10_000_000, 65, 5e5}},
			pause:  latency{p999: time.Millisecond, worst: 4 * time.Millisecond},
		},
		growthResult{
			stages: []stage{{1_000_000, 180, 1e5}, {3_000_000, 180, 1e5}, {10_000_000, 180, 1e5}},
			pause:  latency{p999: time.Millisecond, worst: 40 * time.Millisecond},
		})
	e.addDurability([]durabilityResult{
		{usualLoad(lastingBucket, 1, 1_000_000),
			map[mode][]sample{{limitsrv, ""}: rounds(100e3), {limitsrv, "everysec"}: rounds(95e3)}},
		{usualLoad(lastingBucket, 16, 1_000_000),
			map[mode][]sample{{limitsrv, "always"}: rounds(400e3), {redisLua, "always"}: rounds(100e3)}},
		{usualLoad(lastingBucket, 64, 1_000_000),
			map[mode][]sample{{limitsrv, ""}: rounds(1e6), {limitsrv, "everysec"}: rounds(790e3)}},
	})
	e.disk = &disk{filesystem: "ext4",
		flushes: latency{p50: time.Millisecond, p99: 2 * time.Millisecond, worst: 3 * time.Millisecond}}
	e.addSnapshots(ourSnapshotResult, theirSnapshotResult)
	return e
}

// dropinResults returns results with limitsrv twice as fast, at a tenth of the cost for
// scripts over few keys, and at the same cost otherwise.
func dropinResults() []dropinResult {
	all := defaults.dropinRuns()
	for i := range all {
		all[i].ours, all[i].theirs = rounds(200e3), rounds(100e3)
		if all[i].keys == fewKeys {
			all[i].theirs[0].cpu = []time.Duration{10 * time.Microsecond}
		}
	}
	return all
}

var (
	ourSnapshotResult = snapshotResult{
		keys:   10_000_000,
		before: loadLatencies{waits(1), waits(1)}, during: loadLatencies{waits(2), waits(3)},
		took:      []time.Duration{2 * time.Second, 9 * time.Second, 3 * time.Second},
		allBytes:  810_000_000,
		fullBytes: 600e6, peakBytes: 700e6,
		clean:  restart{end: time.Second, ready: 4 * time.Second, peakBytes: 650e6},
		killed: restart{ready: 11 * time.Second, behind: 3_000_000},
	}
	theirSnapshotResult = snapshotResult{
		keys:   10_000_000,
		before: loadLatencies{waits(2), waits(2)}, during: loadLatencies{latency{1e6, 8e6, 100e6, 200e6}, waits(8)},
		took:          []time.Duration{12 * time.Second},
		snapshotBytes: 400_000_000, allBytes: 1_620_000_000,
		fullBytes: 2e9, peakBytes: 2e9, copiedBytes: 100e6,
		clean: restart{ready: 16 * time.Second}, killed: restart{ready: 22 * time.Second},
	}
)

// waits is a latency of that many milliseconds, with a longer tail.
func waits(millis time.Duration) latency {
	d := millis * time.Millisecond
	return latency{d, d, 2 * d, 3 * d}
}

func TestReportPutsRatiosFirst(t *testing.T) {
	var out strings.Builder
	o := options{markdown: true}
	if err := fullReport(o).write(&out, o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| token, uniform, 50 conn, pipeline 1 | 1.00x ±10 % | 1.00x ±0 % | 100 k/s ±10 %, 1.00 µs, 1.00 / 2.00 / 3.00 " +
			"ms |",
		"| token, uniform, 50 conn, pipeline 64 | 14.00x ±0 % | 1.00x ±0 % | 1.4 M/s ±0 %,",
		"| fixed window, pipeline 64, 500 keys | 2.00x ±0 % | 0.10x ±0 % | 200 k/s ±0 %,",
		"| resident bytes per key, 3 M token buckets | 5.00x ±0 % | 0.34x ±0 % | 62.0, filled at 500 k/s | 180.0, filled " +
			"at 100 k/s |",
		"| worst pause, growing from 1 M to 10 M keys |  | 0.10x ±0 % | 4.00 ms, p99.9 1.00 ms",
		"State is kept on ext4, where a 4 KiB append and its fdatasync take 1.00 / 2.00 / 3.00 ms (p50 / p99 / worst).",
		"| fsync always, lasting token, uniform, 50 conn, pipeline 16 | 4.00x ±0 % | 1.00x ±0 % | 400 k/s ±0 %,",
		"| load | speed | cost | limitsrv --data | limitsrv in memory |",
		"| fsync everysec, lasting token, uniform, 50 conn, pipeline 1 | 0.95x ±0 % | 1.00x ±0 % | 95 k/s ±0 %,",
		"| snapshot of 10 M keys at 20 k decisions/s |  | 0.25x ±0 % | 3 s | 12 s |",
		"| that load during the snapshot: p50 / p99 / p99.9 / worst |  | 0.25x ±0 % | 2.00 / 2.00 / 4.00 / 6.00 ms | 1.00 " +
			"/ 8.00",
		"| a prober before the snapshot: p50 / p99 / p99.9 / worst |  | 0.50x ±0 % | 1.00 / 1.00",
		"| bytes on disk per key after the snapshot |  | 0.50x ±0 % | 81.0, of which the snapshot 0.0 | 162.0, of which " +
			"the snapshot 40.0 |",
		"| memory at its peak, 10 M keys |  | 0.33x ±0 % | 700 MB (before the snapshot 600 MB; restarted 650 MB) | " +
			"2000 MB (before the snapshot 2000 MB, its fork 100 MB more; restarted 0 MB) |",
		"| restart with 10 M keys |  | 0.25x ±0 % | 4 s, ended in 1 s | 16 s,",
		"| restart with 10 M keys after kill -9 under load |  | 0.50x ±0 % | 11 s, killed 3 M decisions after a snapshot |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
}

func TestGoals(t *testing.T) {
	want := []string{
		"met", "NOT MET", "NOT MET", "met", "NOT MET", "NOT MET", "met",
		"met", "met", "met", "met", "met", "met", "met", "met", "met", "NOT MET", "met",
		"met", "met", "NOT MET", "met", "met", "NOT MET",
		"met", "met", "NOT MET", "met", "NOT MET", "NOT MET",
		"met", "met", "NOT MET", "NOT MET", "met", "NOT MET",
	}
	for i, row := range fullReport(options{}).goalRows()[1:] {
		if got := row[len(row)-1]; got != want[i] {
			t.Errorf("%v: want %s", row, want[i])
		}
	}
	for _, row := range (&report{}).goalRows()[1:] {
		if got := row[len(row)-1]; got != "not measured" {
			t.Errorf("%v of an empty report: want not measured", row)
		}
	}
}

func TestOtherLoadsHaveNoGoals(t *testing.T) {
	e := emptyReport(options{snapshotKeys: 10_000})
	other := targetLoad(tokenBucket, 1)
	other.keys = 10_000
	e.addPair(other, rounds(100e3), rounds(100e3))
	e.addDurability([]durabilityResult{{usualLoad(lastingBucket, 1, 10_000), map[mode][]sample{}}})
	small := ourSnapshotResult
	small.keys = 10_000
	e.addSnapshots(small, theirSnapshotResult)
	if len(e.measured) > 0 {
		t.Errorf("figures of goals: %v, want none", e.measured)
	}
}

func TestQuickReportHasNoGoals(t *testing.T) {
	var out strings.Builder
	o := options{quick: true}
	if err := fullReport(o).write(&out, o); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "target") {
		t.Errorf("a quick report has goals:\n%s", out.String())
	}
}
