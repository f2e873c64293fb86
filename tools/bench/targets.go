package main

import (
	"fmt"
	"time"
)

// A target is a figure that limitsrv must reach, relative to Redis with a Lua token
// bucket.
type target struct {
	name string
	want string
	// check returns the figure of a report as text, whether it meets the target, and
	// whether it was measured at all.
	check func(r report) (figure string, met, measured bool)
}

// targetLoad is the load of the targets.
func targetLoad(pipeline int) load {
	return load{tokenBucket, uniform, 50, pipeline, 1_000_000}
}

var targets = []target{
	{"decisions per second, pipeline 1", "at least 1.0x", atLeast(1, 1.0)},
	{"server CPU per decision, pipeline 1", "at most 0.85x", cpuAtMost(1, 0.85)},
	{"decisions per second, pipeline 16", "at least 5x", atLeast(16, 5)},
	{"decisions per second, pipeline 64", "at least 10x", atLeast(64, 10)},
	{"worst pause while growing from 1 M to 10 M keys", "at most 5 ms", pauseAtMost(5 * time.Millisecond)},
	{"resident bytes per key, 3 M token buckets", "at most 64", bytesAtMost(3_000_000, 64)},
	{"resident bytes per key, 10 M token buckets", "at most 64", bytesAtMost(10_000_000, 64)},
	{"fsync everysec over in memory, pipeline 1", "at least 0.9x", durabilityAtLeast(againstMemory[0], 1, 0.9)},
	{"fsync everysec over in memory, pipeline 64", "at least 0.8x", durabilityAtLeast(againstMemory[0], 64, 0.8)},
	{"fsync always over Redis' always, pipeline 16", "at least 5x", durabilityAtLeast(againstRedis[1], 16, 5)},
	{"snapshot of 10 M keys", "at most 5 s", snapshotWithin(snapshotResult.saveSeconds, 5, "%.3g s")},
	{"p99 of a load during it over before", "at most 2x", snapshotWithin(snapshotResult.steadySlowdown, 2, "%.2fx")},
	{"p99 of a prober during it over before", "at most 2x", snapshotWithin(snapshotResult.proberSlowdown, 2, "%.2fx")},
	{"bytes on disk per key after it", "at most 80", snapshotWithin(snapshotResult.diskPerKey, 80, "%.1f")},
	{"restart with 10 M keys", "at most 10 s", snapshotWithin(snapshotResult.cleanSeconds, 10, "%.3g s")},
	{"restart with 10 M keys after kill -9 under load", "at most 10 s", snapshotWithin(snapshotResult.killedSeconds, 10, "%.3g s")},
}

// targetRows returns each target, the figure and the verdict.
func (r report) targetRows() []row {
	rows := []row{{"target (50 connections, uniform, 1 M keys where none are named)", "wanted", "measured", "verdict"}}
	for _, t := range targets {
		figure, met, measured := t.check(r)
		verdict := "met"
		switch {
		case !measured:
			figure, verdict = "-", "not measured"
		case !met:
			verdict = "NOT MET"
		}
		rows = append(rows, row{t.name, t.want, figure, verdict})
	}
	return rows
}

// pair returns the runs of a load.
func (r report) pair(l load) (pairedRuns, bool) {
	for _, d := range r.pairs {
		if d.load == l {
			return d, true
		}
	}
	return pairedRuns{}, false
}

func atLeast(pipeline int, want float64) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		d, ok := r.pair(targetLoad(pipeline))
		f := d.speedup()
		return ratioText(f), f.median >= want, ok
	}
}

func cpuAtMost(pipeline int, want float64) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		d, ok := r.pair(targetLoad(pipeline))
		f := d.cost()
		return ratioText(f), f.median <= want, ok
	}
}

func pauseAtMost(want time.Duration) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		if r.ours == nil || !r.ours.reached(1_000_000) || !r.ours.reached(10_000_000) {
			return "", false, false
		}
		return millisText(r.ours.pause.worst), r.ours.pause.worst <= want, true
	}
}

func bytesAtMost(keys int, want float64) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		if r.ours == nil {
			return "", false, false
		}
		for _, s := range r.ours.stages {
			if s.keys == keys {
				return fmt.Sprintf("%.1f", s.bytesPerKey), s.bytesPerKey <= want, true
			}
		}
		return "", false, false
	}
}

// reached reports whether memory was measured at that number of keys.
func (g *growth) reached(keys int) bool {
	for _, s := range g.stages {
		if s.keys == keys {
			return true
		}
	}
	return false
}
