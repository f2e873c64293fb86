package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// A report is all measurements of a run.
type report struct {
	setting      string // machine, versions and date
	pairs        []pairedRuns
	ours, theirs *growth // nil if not measured
	disk         *disk   // nil if not measured
	durabilities []durabilityResult
	// ourSnapshots and theirSnapshots are nil if not measured.
	ourSnapshots, theirSnapshots *snapshotResult
	deployments                  []deployment
	failovers                    []failoverResult
	stress                       *stressResult // nil if not measured
}

// A row is one line of a table.
type row []string

var header = row{"load", "speed", "cost", "limitsrv", "Redis + Lua"}

// legend describes the columns of the main table.
const legend = `speed: our decisions per second over theirs. cost: ours over theirs, of server CPU per decision, bytes per key or time.
limitsrv, Redis + Lua: decisions per second, server CPU per decision, p50 / p99 / p99.9 latency (pipelined: of the pipeline).
Medians of alternating rounds; ± is half the distance between minimum and maximum.
`

// write prints the tables, ratios first, and the targets. A quick run is not compared
// with targets.
func (r report) write(w io.Writer, o options) error {
	rows := []row{header}
	for _, d := range r.pairs {
		rows = append(rows, d.row())
	}
	if r.ours != nil && r.theirs != nil {
		rows = append(rows, growthRows(*r.ours, *r.theirs)...)
	}
	rows = append(rows, r.durabilityRows(againstRedis)...)
	if r.ourSnapshots != nil && r.theirSnapshots != nil {
		rows = append(rows, snapshotRows(*r.ourSnapshots, *r.theirSnapshots, o)...)
	}
	var tables [][]row
	if len(rows) > 1 {
		tables = append(tables, rows)
	}
	if len(r.durabilities) > 0 {
		tables = append(tables, append([]row{againstMemoryHeader}, r.durabilityRows(againstMemory)...))
	}
	if !o.quick && len(tables) > 0 {
		tables = append(tables, r.targetRows())
	}
	intro := ""
	if len(tables) > 0 {
		intro = legend
	}
	if len(r.deployments) > 0 {
		tables = append(tables, clusterRows(r.deployments, o))
		intro += clusterLegend
	}
	if len(r.failovers) > 0 {
		tables = append(tables, failoverRows(r.failovers, o.failover))
		intro += failoverLegend
	}
	if r.stress != nil {
		tables = append(tables, r.stress.rows(o))
		intro += stressLegend
	}
	if _, err := fmt.Fprintf(w, "%s\n%s", r.settingText(), intro); err != nil {
		return err
	}
	for _, t := range tables {
		fmt.Fprintln(w)
		if err := writeTable(w, t, o.markdown); err != nil {
			return err
		}
	}
	return nil
}

// settingText describes the machine, the versions and the disk.
func (r report) settingText() string {
	if r.disk == nil {
		return r.setting
	}
	return r.setting + "\nState is kept on " + r.disk.String() + "."
}

// writeTable prints rows, the first of which is the header.
func writeTable(w io.Writer, rows []row, markdown bool) error {
	if markdown {
		for i, cells := range rows {
			fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
			if i == 0 {
				fmt.Fprintln(w, "|"+strings.Repeat("---|", len(cells)))
			}
		}
		return nil
	}
	aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	return aligned.Flush()
}

// row formats d.
func (d pairedRuns) row() row {
	return row{d.load.String(), ratioText(d.speedup()), ratioText(d.cost()), sideText(d.ours), sideText(d.theirs)}
}

// sideText summarizes the rounds of one side.
func sideText(rounds []sample) string {
	rate := figureOf(column(rounds, perSecond))
	return fmt.Sprintf("%s/s ±%.0f %%, %.2f µs, %.2f / %.2f / %.2f ms",
		countText(rate.median), rate.spread*100, figureOf(column(rounds, cpuMicros)).median,
		figureOf(column(rounds, p50Millis)).median, figureOf(column(rounds, p99Millis)).median,
		figureOf(column(rounds, p999Millis)).median)
}

// growthRows are the rows on memory and pauses.
func growthRows(ours, theirs growth) []row {
	var rows []row
	for i := range min(len(ours.stages), len(theirs.stages)) {
		a, b := ours.stages[i], theirs.stages[i]
		rows = append(rows, row{
			fmt.Sprintf("resident bytes per key, %s token buckets", countText(float64(a.keys))),
			quotientText(a.growthPerSec, b.growthPerSec),
			quotientText(a.bytesPerKey, b.bytesPerKey),
			a.text(), b.text(),
		})
	}
	if n := len(rows); n > 1 {
		first, last := ours.stages[0].keys, ours.stages[n-1].keys
		rows = append(rows, row{
			fmt.Sprintf("worst pause, growing from %s to %s keys", countText(float64(first)), countText(float64(last))), "",
			quotientText(float64(ours.pause.worst), float64(theirs.pause.worst)), ours.pauseText(), theirs.pauseText(),
		})
	}
	return rows
}

// text formats the memory and the rate of growth.
func (s stage) text() string {
	return fmt.Sprintf("%.1f, filled at %s/s", s.bytesPerKey, countText(s.growthPerSec))
}

// pauseText formats the worst latency with and without growth.
func (g growth) pauseText() string {
	return fmt.Sprintf("%s, p99.9 %s (not growing: %s, p99.9 %s)",
		millisText(g.pause.worst), millisText(g.pause.p999), millisText(g.calm.worst), millisText(g.calm.p999))
}

// ratioText formats a ratio as "6.10x ±3 %", or "-" if it was not measured.
func ratioText(f figure) string {
	if f.median == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx ±%.0f %%", f.median, f.spread*100)
}

// quotientText formats the ratio of two single figures.
func quotientText(ours, theirs float64) string {
	return ratioText(figureOf(ratios([]float64{ours}, []float64{theirs})))
}

func millisText(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

// millisTexts formats durations as 0.26 / 0.57 / 1.20 ms.
func millisTexts(all ...time.Duration) string {
	var texts []string
	for _, d := range all {
		texts = append(texts, fmt.Sprintf("%.2f", d.Seconds()*1e3))
	}
	return strings.Join(texts, " / ") + " ms"
}

// countText formats a count with four significant digits at most: 912, 81.2 k, 1.05 M.
func countText(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.4g M", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.4g k", n/1e3)
	}
	return fmt.Sprintf("%.4g", n)
}

// setting describes the machine, the versions, the date and the rounds.
func setting(o options) string {
	load, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	return fmt.Sprintf("%s, %d cores, load %s before, Linux %s, %s, %s, %s. Rounds: %d of %v over %s keys of 22 bytes.",
		processor(), runtime.NumCPU(), load, firstLine("/proc/sys/kernel/osrelease"), runtime.Version(), redisVersion(),
		time.Now().Format(time.DateOnly), o.rounds, o.duration, countText(float64(o.keys)))
}

// processor returns the name of the processor from /proc/cpuinfo.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, after, found := strings.Cut(string(text), "model name")
	if !found {
		return runtime.GOARCH
	}
	name, _, _ := strings.Cut(after, "\n")
	return strings.Trim(name, "\t :")
}

// redisVersion returns the version as in "Redis 7.0.15".
func redisVersion() string {
	out, _ := exec.Command("redis-server", "--version").Output()
	_, after, _ := strings.Cut(string(out), "v=")
	version, _, _ := strings.Cut(after, " ")
	return "Redis " + version
}

// firstLine returns the first line of a file, or "".
func firstLine(name string) string {
	text, _ := os.ReadFile(name)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
