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

// A report is all that was measured.
type report struct {
	setting      string // machine, versions and date
	duels        []duel
	ours, theirs *growth // nil if not measured
	disk         *disk   // likewise
	standings    []standing
	// ourKeeping and theirKeeping are nil if not measured.
	ourKeeping, theirKeeping *preservation
	teams                    []team
	plights                  []plight
	siege                    *siege // nil if not measured
}

// A row is one line of the table.
type row []string

var header = row{"load", "speed", "cost", "limitsrv", "Redis + Lua"}

// legend says what the columns hold.
const legend = `speed: our decisions per second over theirs. cost: ours over theirs, of server CPU per decision, bytes per key or time.
limitsrv, Redis + Lua: decisions per second, server CPU per decision, p50 / p99 / p99.9 of what a client waits (pipelined:
for the pipeline). Medians of alternating rounds; ± is half of what lies between the least and the largest.
`

// write prints the table, ratios first, and what of it was aimed at. The figures
// of a quick run are held against no target.
func (r report) write(w io.Writer, o options) error {
	rows := []row{header}
	for _, d := range r.duels {
		rows = append(rows, d.row())
	}
	if r.ours != nil && r.theirs != nil {
		rows = append(rows, growthRows(*r.ours, *r.theirs)...)
	}
	rows = append(rows, r.durabilityRows(besideRedis)...)
	if r.ourKeeping != nil && r.theirKeeping != nil {
		rows = append(rows, snapshotRows(*r.ourKeeping, *r.theirKeeping, o)...)
	}
	var tables [][]row
	if len(rows) > 1 {
		tables = append(tables, rows)
	}
	if len(r.standings) > 0 {
		tables = append(tables, append([]row{besideMemoryHeader}, r.durabilityRows(besideMemory)...))
	}
	if !o.quick && len(tables) > 0 {
		tables = append(tables, r.targetRows())
	}
	intro := ""
	if len(tables) > 0 {
		intro = legend
	}
	if len(r.teams) > 0 {
		tables = append(tables, clusterRows(r.teams, o))
		intro += clusterLegend
	}
	if len(r.plights) > 0 {
		tables = append(tables, failoverRows(r.plights, o.drill))
		intro += failoverLegend
	}
	if r.siege != nil {
		tables = append(tables, r.siege.rows(o))
		intro += siegeLegend
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

// settingText is where and on what all was measured.
func (r report) settingText() string {
	if r.disk == nil {
		return r.setting
	}
	return r.setting + "\nState is kept on " + r.disk.String() + "."
}

// writeTable prints rows, of which the first is the header.
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

// row is the line of a duel.
func (d duel) row() row {
	return row{d.load.String(), ratioText(d.faster()), ratioText(d.cost()), sideText(d.ours), sideText(d.theirs)}
}

// sideText sums up the rounds of one side.
func sideText(rounds []sample) string {
	rate := figureOf(column(rounds, perSecond))
	return fmt.Sprintf("%s/s ±%.0f %%, %.2f µs, %.2f / %.2f / %.2f ms",
		countText(rate.median), rate.spread*100, figureOf(column(rounds, cpuMicros)).median,
		figureOf(column(rounds, p50Millis)).median, figureOf(column(rounds, p99Millis)).median,
		figureOf(column(rounds, p999Millis)).median)
}

// growthRows are the lines on memory and pauses.
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

// text is the memory, and how fast the keys came.
func (s stage) text() string {
	return fmt.Sprintf("%.1f, filled at %s/s", s.bytesPerKey, countText(s.growthPerSec))
}

// pauseText tells the worst wait while growing, and not growing.
func (g growth) pauseText() string {
	return fmt.Sprintf("%s, p99.9 %s (not growing: %s, p99.9 %s)",
		millisText(g.pause.worst), millisText(g.pause.p999), millisText(g.calm.worst), millisText(g.calm.p999))
}

// ratioText is "6.10x ±3 %", or "-" if nothing was measured.
func ratioText(f figure) string {
	if f.median == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx ±%.0f %%", f.median, f.spread*100)
}

// quotientText is a ratio of two single figures.
func quotientText(ours, theirs float64) string {
	return ratioText(figureOf(ratios([]float64{ours}, []float64{theirs})))
}

func millisText(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1e3) }

// millisTexts is several times in one: 0.26 / 0.57 / 1.20 ms.
func millisTexts(all ...time.Duration) string {
	var texts []string
	for _, d := range all {
		texts = append(texts, fmt.Sprintf("%.2f", d.Seconds()*1e3))
	}
	return strings.Join(texts, " / ") + " ms"
}

// countText is a count with three digits that mean something: 912, 81.2 k, 1.05 M.
func countText(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.4g M", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.4g k", n/1e3)
	}
	return fmt.Sprintf("%.4g", n)
}

// setting describes the machine, the versions and the day.
func setting(o options) string {
	load, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	return fmt.Sprintf("%s, %d cores, load %s before, Linux %s, %s, %s, %s. Rounds: %d of %v over %s keys of 22 bytes.",
		processor(), runtime.NumCPU(), load, firstLine("/proc/sys/kernel/osrelease"), runtime.Version(), redisVersion(),
		time.Now().Format(time.DateOnly), o.rounds, o.duration, countText(float64(o.keys)))
}

// processor is the name of the processor as Linux tells it.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, after, found := strings.Cut(string(text), "model name")
	if !found {
		return runtime.GOARCH
	}
	name, _, _ := strings.Cut(after, "\n")
	return strings.Trim(name, "\t :")
}

// redisVersion is as in "Redis 7.0.15".
func redisVersion() string {
	out, _ := exec.Command("redis-server", "--version").Output()
	_, after, _ := strings.Cut(string(out), "v=")
	version, _, _ := strings.Cut(after, " ")
	return "Redis " + version
}

// firstLine is the first line of a file, empty if there is none.
func firstLine(name string) string {
	text, _ := os.ReadFile(name)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
