package main

import (
	"fmt"
	"time"
)

// snapshotRows are the lines on snapshots and restarts.
func snapshotRows(ours, theirs preservation, o options) []row {
	keys, rate := countText(float64(o.snapshotKeys)), countText(float64(o.rate))
	line := func(name string, cost func(preservation) float64, text func(preservation) string) row {
		return row{name, "", quotientText(cost(ours), cost(theirs)), text(ours), text(theirs)}
	}
	waits := func(name string, of func(preservation) latency) row {
		return line(name+": p50 / p99 / p99.9 / worst",
			func(p preservation) float64 { return float64(of(p).p99) },
			func(p preservation) string { l := of(p); return millisTexts(l.p50, l.p99, l.p999, l.worst) })
	}
	return []row{
		line(fmt.Sprintf("snapshot of %s keys at %s decisions/s", keys, rate), preservation.saveSeconds,
			func(p preservation) string { return secondsText(p.saveTime()) }),
		waits("that load before the snapshot", func(p preservation) latency { return p.before.steady }),
		waits("that load during the snapshot", func(p preservation) latency { return p.during.steady }),
		waits("a prober before the snapshot", func(p preservation) latency { return p.before.prober }),
		waits("a prober during the snapshot", func(p preservation) latency { return p.during.prober }),
		line("bytes on disk per key after the snapshot", preservation.diskPerKey, preservation.diskText),
		line(fmt.Sprintf("memory at its peak, %s keys", keys),
			func(p preservation) float64 { return float64(p.peakBytes + p.copiedBytes) }, preservation.memoryText),
		line(fmt.Sprintf("restart with %s keys", keys),
			func(p preservation) float64 { return p.clean.ready.Seconds() }, preservation.cleanText),
		line(fmt.Sprintf("restart with %s keys after kill -9 under load", keys),
			func(p preservation) float64 { return p.killed.ready.Seconds() }, preservation.killedText),
	}
}

// saveSeconds is the median over the snapshots.
func (p preservation) saveSeconds() float64 {
	var all []float64
	for _, took := range p.took {
		all = append(all, took.Seconds())
	}
	return figureOf(all).median
}

func (p preservation) saveTime() time.Duration {
	return time.Duration(p.saveSeconds() * float64(time.Second))
}

// perKey shares bytes out among the keys.
func (p preservation) perKey(bytes int64) float64 { return float64(bytes) / float64(max(1, p.keys)) }

func (p preservation) diskPerKey() float64 { return p.perKey(p.allBytes) }

func (p preservation) diskText() string {
	return fmt.Sprintf("%.1f, of which the snapshot %.1f", p.perKey(p.allBytes), p.perKey(p.snapshotBytes))
}

func (p preservation) memoryText() string {
	text := fmt.Sprintf("%s (before the snapshot %s", bytesText(p.peakBytes), bytesText(p.fullBytes))
	if p.copiedBytes > 0 {
		text += fmt.Sprintf(", its fork %s more", bytesText(p.copiedBytes))
	}
	return fmt.Sprintf("%s; restarted %s)", text, bytesText(max(p.clean.peakBytes, p.killed.peakBytes)))
}

func (p preservation) cleanText() string {
	return fmt.Sprintf("%s, ended in %s", secondsText(p.clean.ready), secondsText(p.clean.end))
}

func (p preservation) killedText() string {
	return fmt.Sprintf("%s, killed %s decisions after a snapshot", secondsText(p.killed.ready), countText(float64(p.killed.behind)))
}

// secondsText is a time with three digits that mean something.
func secondsText(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }

// bytesText is a size in megabytes, for there are many.
func bytesText(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

// snapshotTargetKeys is how many keys the targets are for.
const snapshotTargetKeys = 10_000_000

// preserved makes a check of a figure of ours, which is met up to want.
func preserved(of func(preservation) float64, want float64, format string) func(report) (string, bool, bool) {
	return func(r report) (string, bool, bool) {
		if r.ourKeeping == nil || r.ourKeeping.keys < snapshotTargetKeys {
			return "", false, false
		}
		got := of(*r.ourKeeping)
		return fmt.Sprintf(format, got), got <= want, true
	}
}

func (p preservation) steadySlowdown() float64 { return slowdown(p.before.steady, p.during.steady) }
func (p preservation) proberSlowdown() float64 { return slowdown(p.before.prober, p.during.prober) }
func (p preservation) cleanSeconds() float64   { return p.clean.ready.Seconds() }
func (p preservation) killedSeconds() float64  { return p.killed.ready.Seconds() }

// slowdown is how much longer the slowest hundredth waits.
func slowdown(before, during latency) float64 {
	return float64(during.p99) / float64(max(1, before.p99))
}
