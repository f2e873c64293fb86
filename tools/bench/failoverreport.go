package main

import (
	"fmt"
	"slices"
	"time"
)

// failoverLegend describes the columns of failoverRows.
const failoverLegend = `Three servers: the leader is killed with its machine, or isolated from the other two for a while, together with half of the
clients; 0.5 ms one way between machines. limitsrv has --election-timeout 300ms, Sentinel down-after-milliseconds 500. Granted beyond capacity: by all
servers, after every key was emptied, of keys that are never refilled; worst key: the largest ratio of permits granted to
capacity. Grants forgotten: granted permits that the servers did not count at the end. Without decisions: from the fault to the
first decision of another server. Medians (minimum to maximum).
`

// failoverRows is the table of the results.
func failoverRows(results []failoverResult, d failoverPlan) []row {
	rows := []row{{
		fmt.Sprintf("leader (%d keys of %s permits, %s/s asked)", d.keys, countText(float64(d.capacity())), countText(float64(d.rate))),
		"servers", "granted beyond capacity", "worst key", "grants forgotten", "without decisions",
	}}
	for _, p := range results {
		outages := seconds(p.rounds)
		rows = append(rows, row{
			string(p.fault), p.contender,
			spanText(p.rounds, func(o failoverRun) int64 { return o.over }),
			fmt.Sprintf("%.2fx", slices.Max(shares(p.rounds))),
			spanText(p.rounds, func(o failoverRun) int64 { return o.forgotten }),
			fmt.Sprintf("%.2f s (%.2f to %.2f)", figureOf(outages).median, slices.Min(outages), slices.Max(outages)),
		})
	}
	return rows
}

// spanText formats the median, minimum and maximum of the rounds.
func spanText(rounds []failoverRun, of func(failoverRun) int64) string {
	var all []float64
	for _, o := range rounds {
		all = append(all, float64(of(o)))
	}
	return fmt.Sprintf("%s (%s to %s)", countText(figureOf(all).median), countText(slices.Min(all)), countText(slices.Max(all)))
}

func seconds(rounds []failoverRun) (all []float64) {
	for _, o := range rounds {
		all = append(all, o.outage.Round(time.Millisecond).Seconds())
	}
	return all
}

func shares(rounds []failoverRun) (all []float64) {
	for _, o := range rounds {
		all = append(all, o.worst)
	}
	return all
}
