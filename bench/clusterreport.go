package main

import "fmt"

// clusterLegend says what the columns of clusterRows hold.
const clusterLegend = `Nodes of limitsrv: decisions per second, p50 / p99 / p99.9 of what a client waits (pipelined: for the pipeline; at a fixed
rate: from when it was due), server CPU per decision of the node asked + of the others + of the load generator. All share the
machine. Medians of alternating rounds; times one node is of the first column of figures, round by round.
`

// clusterRows is the table of what teams were measured under each demand.
func clusterRows(teams []team, o options) []row {
	head := row{"asked at"}
	for i, t := range teams {
		head = append(head, t.name)
		if i > 0 {
			head = append(head, "times one node")
		}
	}
	rows := []row{head}
	for i, want := range demands(o.keys) {
		line := row{want.String()}
		if want.open {
			line[0] = fmt.Sprintf("%s, %s/s", want, countText(float64(o.arrivals)))
		}
		for j, t := range teams {
			line = append(line, t.bouts[i].text())
			if j > 0 {
				line = append(line, ratioText(figureOf(ratios(t.bouts[i].rates(), teams[0].bouts[i].rates()))))
			}
		}
		rows = append(rows, line)
	}
	return rows
}

// text sums up the runs.
func (b bout) text() string {
	if len(b) == 0 {
		return "-"
	}
	median := func(of func(effort) float64) float64 {
		var all []float64
		for _, e := range b {
			all = append(all, of(e))
		}
		return figureOf(all).median
	}
	rate := figureOf(b.rates())
	return fmt.Sprintf("%s/s ±%.0f %%, %.2f / %.2f / %.2f ms, %.2f + %.2f + %.2f µs", countText(rate.median), rate.spread*100,
		median(func(e effort) float64 { return e.p50.Seconds() * 1e3 }),
		median(func(e effort) float64 { return e.p99.Seconds() * 1e3 }),
		median(func(e effort) float64 { return e.p999.Seconds() * 1e3 }),
		median(func(e effort) float64 { return e.asked.Seconds() * 1e6 }),
		median(func(e effort) float64 { return e.others.Seconds() * 1e6 }),
		median(func(e effort) float64 { return e.generator.Seconds() * 1e6 }))
}
