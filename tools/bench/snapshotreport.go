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
		func(p snapshotResult) string { return secondsText(p.saveTime()) })
	waits("that load before the snapshot", func(p snapshotResult) latency { return p.before.steady })
	waits("that load during the snapshot", func(p snapshotResult) latency { return p.during.steady })
	waits("a prober before the snapshot", func(p snapshotResult) latency { return p.before.prober })
	waits("a prober during the snapshot", func(p snapshotResult) latency { return p.during.prober })
	line("bytes on disk per key after the snapshot", snapshotResult.diskPerKey, snapshotResult.diskText)
	line(fmt.Sprintf("memory at its peak, %s keys", keys),
		func(p snapshotResult) float64 { return float64(p.peakBytes + p.copiedBytes) }, snapshotResult.memoryText)
	clean := fmt.Sprintf("restart with %s keys", keys)
	line(clean, func(p snapshotResult) float64 { return p.clean.ready.Seconds() }, snapshotResult.cleanText)
	line(clean+" after kill -9 under load", func(p snapshotResult) float64 { return p.killed.ready.Seconds() }, snapshotResult.killedText)
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
		{"restart with 10 M keys", "%.3g s", ours.clean.ready.Seconds()},
		{"restart with 10 M keys after kill -9 under load", "%.3g s", ours.killed.ready.Seconds()},
	} {
		e.see(seen.goal, seen.value, fmt.Sprintf(seen.format, seen.value))
	}
}

// saveSeconds is the median duration of the snapshots.
func (p snapshotResult) saveSeconds() float64 { return median(p.took, time.Duration.Seconds) }

func (p snapshotResult) saveTime() time.Duration {
	return time.Duration(p.saveSeconds() * float64(time.Second))
}

// perKey divides bytes by the number of keys.
func (p snapshotResult) perKey(bytes int64) float64 { return float64(bytes) / float64(max(1, p.keys)) }

func (p snapshotResult) diskPerKey() float64 { return p.perKey(p.allBytes) }

func (p snapshotResult) diskText() string {
	return fmt.Sprintf("%.1f, of which the snapshot %.1f", p.perKey(p.allBytes), p.perKey(p.snapshotBytes))
}

func (p snapshotResult) memoryText() string {
	text := fmt.Sprintf("%s (before the snapshot %s", bytesText(p.peakBytes), bytesText(p.fullBytes))
	if p.copiedBytes > 0 {
		text += fmt.Sprintf(", its fork %s more", bytesText(p.copiedBytes))
	}
	return fmt.Sprintf("%s; restarted %s)", text, bytesText(max(p.clean.peakBytes, p.killed.peakBytes)))
}

func (p snapshotResult) cleanText() string {
	return fmt.Sprintf("%s, ended in %s", secondsText(p.clean.ready), secondsText(p.clean.end))
}

func (p snapshotResult) killedText() string {
	return fmt.Sprintf("%s, killed %s decisions after a snapshot", secondsText(p.killed.ready), countText(float64(p.killed.behind)))
}

// secondsText formats a duration with three significant digits.
func secondsText(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }

// bytesText formats a size in megabytes.
func bytesText(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

// slowdown is the ratio of the p99 during a disturbance to the p99 before.
func slowdown(before, during latency) float64 {
	return float64(during.p99) / float64(max(1, before.p99))
}
