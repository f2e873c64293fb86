package main

import (
	"fmt"
	"strings"
)

// clusterLegend describes the columns of clusterRows.
const clusterLegend = `Nodes of limitsrv: decisions per second, p50 / p99 / p99.9 of the latency (pipelined: of the pipeline; at a fixed rate:
from the due time), CPU per decision of the node asked + of the leader, if that is another one + of each other node,
and the share of a core used by the load generator. All share the machine. Medians of alternating rounds; "times one node"
is relative to the first column of figures, round by round.
`

// clusterRows is the table of the deployments under each load.
func clusterRows(deployments []deployment, o options) []row {
	head := row{"node asked"}
	for i, t := range deployments {
		head = append(head, t.name)
		if i > 0 {
			head = append(head, "times one node")
		}
	}
	rows := []row{head}
	for i, want := range clusterLoads(o.keys) {
		line := row{want.String()}
		if want.open {
			line[0] = fmt.Sprintf("%s, %s/s", want, countText(float64(o.arrivals)))
		}
		for j, t := range deployments {
			line = append(line, t.runs[i].text())
			if j > 0 {
				line = append(line, ratioText(figureOf(ratios(t.runs[i].rates(), deployments[0].runs[i].rates()))))
			}
		}
		rows = append(rows, line)
	}
	return rows
}

// text summarizes the runs.
func (b clusterRuns) text() string {
	if len(b) == 0 {
		return "-"
	}
	median := func(of func(clusterRun) float64) float64 {
		var all []float64
		for _, e := range b {
			all = append(all, of(e))
		}
		return figureOf(all).median
	}
	var nodes []string
	for i := range b[0].nodes {
		nodes = append(nodes, fmt.Sprintf("%.2f", median(func(e clusterRun) float64 { return e.nodes[i].Seconds() * 1e6 })))
	}
	rate := figureOf(b.rates())
	return fmt.Sprintf("%s/s ±%.0f %%, %.2f / %.2f / %.2f ms, %s µs, load %.2f", countText(rate.median), rate.spread*100,
		median(func(e clusterRun) float64 { return e.p50.Seconds() * 1e3 }),
		median(func(e clusterRun) float64 { return e.p99.Seconds() * 1e3 }),
		median(func(e clusterRun) float64 { return e.p999.Seconds() * 1e3 }),
		strings.Join(nodes, " + "), median(clusterRun.cores))
}
