package main

import (
	"fmt"
	"time"
)

// A target is what limitsrv is to reach beside Redis with a Lua token bucket.
type target struct {
	name string
	want string
	// check finds the figure in a report: how it reads, whether it is enough, and
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
	{"fsync everysec over in memory, pipeline 1", "at least 0.9x", durabilityAtLeast(besideMemory[0], 1, 0.9)},
	{"fsync everysec over in memory, pipeline 64", "at least 0.8x", durabilityAtLeast(besideMemory[0], 64, 0.8)},
	{"fsync always over Redis' always, pipeline 16", "at least 5x", durabilityAtLeast(besideRedis[1], 16, 5)},
	{"snapshot of 10 M keys", "at most 5 s", preserved(preservation.saveSeconds, 5, "%.3g s")},
	{"p99 of a load during it over before", "at most 2x", preserved(preservation.steadySlowdown, 2, "%.2fx")},
	{"p99 of a prober during it over before", "at most 2x", preserved(preservation.proberSlowdown, 2, "%.2fx")},
	{"bytes on disk per key after it", "at most 80", preserved(preservation.diskPerKey, 80, "%.1f")},
	{"restart with 10 M keys", "at most 10 s", preserved(preservation.cleanSeconds, 10, "%.3g s")},
	{"restart with 10 M keys after kill -9 under load", "at most 10 s", preserved(preservation.killedSeconds, 10, "%.3g s")},
}

// targetRows are each target, what was measured, and whether it is met.
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

// duel finds what was measured under a load.
func (r report) duel(l load) (duel, bool) {
	for _, d := range r.duels {
		if d.load == l {
			return d, true
		}
	}
	return duel{}, false
}

func atLeast(pipeline int, want float64) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		d, ok := r.duel(targetLoad(pipeline))
		f := d.faster()
		return ratioText(f), f.median >= want, ok
	}
}

func cpuAtMost(pipeline int, want float64) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		d, ok := r.duel(targetLoad(pipeline))
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

// reached says whether memory was read at so many keys.
func (g *growth) reached(keys int) bool {
	for _, s := range g.stages {
		if s.keys == keys {
			return true
		}
	}
	return false
}
