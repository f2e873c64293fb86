package main

import (
	"fmt"
	"time"
)

// snapshotGoalKeys is the number of keys of the goals.
const snapshotGoalKeys = 10_000_000

// addSnapshots adds the rows on snapshots and restarts.
func (e *env) addSnapshots(ours, theirs snapshotResult) {
	keys, rate := countText(float64(e.snapshotKeys)), countText(float64(e.rate))
	line := func(name string, cost func(snapshotResult) float64, text func(snapshotResult) string) {
		e.add(mainTable, name, "", quotientText(cost(ours), cost(theirs)), text(ours), text(theirs))
	}
	waits := func(name string, of func(snapshotResult) latency) {
		line(name+": p50 / p99 / p99.9 / worst",
			func(p snapshotResult) float64 { return float64(of(p).p99) },
			func(p snapshotResult) string { l := of(p); return millisTexts(l.p50, l.p99, l.p999, l.worst) })
	}
	line(fmt.Sprintf("snapshot of %s keys at %s decisions/s", keys, rate), snapshotResult.saveSeconds,
		func(p snapshotResult) string { return secondsText(p.saveSeconds()) })
	waits("that load before the snapshot", func(p snapshotResult) latency { return p.before.steady })
	waits("that load during the snapshot", func(p snapshotResult) latency { return p.during.steady })
	waits("a prober before the snapshot", func(p snapshotResult) latency { return p.before.prober })
	waits("a prober during the snapshot", func(p snapshotResult) latency { return p.during.prober })
	line("bytes on disk per key after the snapshot", snapshotResult.diskPerKey, func(p snapshotResult) string {
		return fmt.Sprintf("%.1f, of which the snapshot %.1f", p.diskPerKey(), p.perKey(p.snapshotBytes))
	})
	line(fmt.Sprintf("memory at its peak, %s keys", keys),
		func(p snapshotResult) float64 { return float64(p.peakBytes + p.copiedBytes) }, snapshotResult.memoryText)
	restarted := fmt.Sprintf("restart with %s keys", keys)
	line(restarted, snapshotResult.cleanSeconds, func(p snapshotResult) string {
		return fmt.Sprintf("%s, ended in %s", secondsText(p.cleanSeconds()), secondsText(p.clean.end.Seconds()))
	})
	line(restarted+" after kill -9 under load", snapshotResult.killedSeconds, func(p snapshotResult) string {
		return fmt.Sprintf("%s, killed %s decisions after a snapshot", secondsText(p.killedSeconds()),
			countText(float64(p.killed.behind)))
	})
	if ours.keys < snapshotGoalKeys {
		return
	}
	for _, seen := range []struct {
		goal   string
		format string
		value  float64
	}{
		{"snapshot of 10 M keys", "%.3g s", ours.saveSeconds()},
		{"p99 of a load during it over before", "%.2fx", slowdown(ours.before.steady, ours.during.steady)},
		{"p99 of a prober during it over before", "%.2fx", slowdown(ours.before.prober, ours.during.prober)},
		{"bytes on disk per key after it", "%.1f", ours.diskPerKey()},
		{"restart with 10 M keys", "%.3g s", ours.cleanSeconds()},
		{"restart with 10 M keys after kill -9 under load", "%.3g s", ours.killedSeconds()},
	} {
		e.recordFigure(seen.goal, seen.value, fmt.Sprintf(seen.format, seen.value))
	}
}

// saveSeconds is the median duration of the snapshots.
func (p snapshotResult) saveSeconds() float64 { return median(p.took, time.Duration.Seconds) }

// perKey divides bytes by the number of keys.
func (p snapshotResult) perKey(bytes int64) float64 { return float64(bytes) / float64(max(1, p.keys)) }

func (p snapshotResult) diskPerKey() float64    { return p.perKey(p.allBytes) }
func (p snapshotResult) cleanSeconds() float64  { return p.clean.ready.Seconds() }
func (p snapshotResult) killedSeconds() float64 { return p.killed.ready.Seconds() }

func (p snapshotResult) memoryText() string {
	text := fmt.Sprintf("%s (before the snapshot %s", bytesText(p.peakBytes), bytesText(p.fullBytes))
	if p.copiedBytes > 0 {
		text += fmt.Sprintf(", its fork %s more", bytesText(p.copiedBytes))
	}
	return fmt.Sprintf("%s; restarted %s)", text, bytesText(max(p.clean.peakBytes, p.killed.peakBytes)))
}
