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

// A report is the tables of a run.
type report struct {
	setting  string // machine, versions and date
	disk     *disk  // nil if no experiment kept state
	tables   [tableCount][]row
	measured map[string]measurement // by name of the goal
}

// A row is a line of a table.
type row []string

// A tableID is one of the tables that experiments fill.
type tableID int

const (
	mainTable tableID = iota
	cellTable
	dropinTable
	ruleTable
	memoryTable
	gatewayTable
	budgetTable
	hugeTable
	hugePairTable
	clusterTable
	failoverTable
	stressTable
	tableCount
)

// tables has the fixed parts of each table: its header, unless the experiment adds it as
// the first row, and its legend.
var tables = [tableCount]struct {
	header row
	legend string
}{
	mainTable:   {row{"load", "speed", "cost", string(limitsrv), string(redisLua)}, mainLegend},
	cellTable:   {row{"load", "speed", "cost", string(limitsrv), string(redisCell)}, ""},
	dropinTable: {row{"unchanged", "speed", "cost", string(limitsrv), string(redisLua)}, dropinLegend},
	ruleTable:   {row{"by rules", "speed", "cost", "RL.CHECK", "RL.ALL"}, ruleLegend},
	gatewayTable: {row{"gateway", "used of the limit", "over it in a window", "server CPU a request", "granted",
		"settled late", "wanted", "verdict"}, gatewayLegend},
	budgetTable: {row{"reservations", "ours", "beside", "ratio", "wanted", "verdict"}, ""},
	memoryTable: {row{"load", "speed", "cost", "limitsrv --data", "limitsrv in memory"}, ""},
	hugeTable: {row{"many keys", "result", "bytes a key", "prober p50 / p99 / p99.9", "wanted", "verdict"},
		hugeLegend},
	hugePairTable: {row{"many keys", "speed", "cost", string(limitsrv), string(redisLua), "wanted", "verdict"},
		hugePairLegend},
	clusterTable:  {nil, clusterLegend},
	failoverTable: {nil, failoverLegend},
	stressTable:   {row{"under stress", "wanted", string(limitsrv), string(redisLua), "verdict"}, stressLegend},
}

const mainLegend = `speed: our decisions per second over theirs. cost: ours over theirs, of server CPU per decision, bytes per key or time.
limitsrv, Redis + Lua: decisions per second, server CPU per decision, p50 / p99 / p99.9 latency (pipelined: of the pipeline).
Medians of alternating rounds; ± is half the distance between minimum and maximum.
`

const dropinLegend = `unchanged: a command or a script (in scripts/dropin) that both sides run as it is, 50 connections, uniform.
`

const ruleLegend = `by rules: limitsrv alone, RL.CHECK beside RL.ALL that names the same limits, 50 connections, uniform over 100 000 clients.
RL.ALL names each of three limits with a client of its own, RL.CHECK one client for the three.
`

const gatewayLegend = `gateway: all at the same time, each on a server of its own. The limit is 100 000 tokens in 2 s, which stand for a minute. Seven times as
much is asked, in requests of 600 tokens on average. Each reserves 4 096, streams for 0.33 to 1 s, and then gives the rest back.
reservations: limitsrv alone, medians of runs in turns.
`

const hugeLegend = `limitsrv alone, with --fsync everysec, a bucket per key. bytes a key: resident, at the peak of the stage. A prober asks for one
decision at a time on the same machine.
`

const hugePairLegend = `many keys beside Redis: both in memory, a live bucket per key. Redis stores it as one string, in Lua (scripts/gcra.lua). speed: our
decisions per second, or keys per second of the fill, over theirs. cost: server CPU per decision, or bytes per key, ours over theirs.
limitsrv, Redis + Lua: decisions per second, server CPU per decision, p50 / p99 / p99.9 latency of a pipeline; medians of the rounds.
`

// write prints the legends, the tables, ratios first, and after the tables of ratios their
// goals. A quick run is not compared with goals.
func (r *report) write(w io.Writer, o options) error {
	var (
		intro  string
		filled [][]row
	)
	for i, rows := range r.tables {
		if len(rows) > 0 {
			intro += tables[i].legend
			if head := tables[i].header; head != nil {
				rows = append([]row{head}, rows...)
			}
			filled = append(filled, rows)
		}
		if tableID(i) == memoryTable && len(filled) > 0 && !o.quick {
			filled = append(filled, r.goalRows())
		}
	}
	if _, err := fmt.Fprintf(w, "%s\n%s", r.settingText(), intro); err != nil {
		return err
	}
	for _, rows := range filled {
		fmt.Fprintln(w)
		if err := writeTable(w, rows, o.markdown); err != nil {
			return err
		}
	}
	return nil
}

// settingText describes the machine, the versions and the disk.
func (r *report) settingText() string {
	if r.disk == nil {
		return r.setting
	}
	return r.setting + "\nState is kept on " + r.disk.String() + "."
}

// writeTable prints rows. The first row is the header.
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

// pairRow compares the samples of two sides.
func pairRow(name string, ours, theirs []sample) row {
	return row{name, ratioText(speedup(ours, theirs)), ratioText(ratioOf(ours, theirs, cpuMicros)), sideText(ours),
		sideText(theirs)}
}

// sideText summarizes the rounds of a side.
func sideText(rounds []sample) string {
	rate := figureOf(column(rounds, perSecond))
	return fmt.Sprintf("%s/s ±%.0f %%, %.2f µs, %s", countText(rate.median), rate.spread*100, median(rounds, cpuMicros),
		waitsText(rounds))
}

// waitsText formats the medians of the quantiles.
func waitsText(rounds []sample) string {
	return fmt.Sprintf("%.2f / %.2f / %.2f ms", median(rounds, p50Millis), median(rounds, p99Millis),
		median(rounds, p999Millis))
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

// secondsText formats seconds with three significant digits.
func secondsText(seconds float64) string { return fmt.Sprintf("%.3g s", seconds) }

// bytesText formats a size in megabytes.
func bytesText(n int64) string { return fmt.Sprintf("%.0f MB", float64(n)/1e6) }

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
