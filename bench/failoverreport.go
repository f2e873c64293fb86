package main

import (
	"fmt"
	"slices"
	"time"
)

// failoverLegend says what the columns of failoverRows hold.
const failoverLegend = `Three servers: the leader is killed with its machine, or isolated from the other two for a while, as is half of the clients
with it; 0.5 ms one way between machines. limitsrv has --election-timeout 300ms, Sentinel down-after-milliseconds 500. Granted beyond capacity: by the servers together, once every key was emptied, of
keys that are never refilled; worst key: the most of its capacity that one gave. Grants forgotten: that the servers knew nothing
of at the end. Without decisions: from the fault to the first decision of another server. Medians (least to most).
`

// failoverRows is the table of what came of the faults.
func failoverRows(plights []plight, d drill) []row {
	rows := []row{{
		fmt.Sprintf("leader (%d keys of %s permits, %s/s asked)", d.keys, countText(float64(d.capacity())), countText(float64(d.rate))),
		"kept by", "granted beyond capacity", "worst key", "grants forgotten", "without decisions",
	}}
	for _, p := range plights {
		outages := seconds(p.rounds)
		rows = append(rows, row{
			string(p.fault), p.contender,
			spanText(p.rounds, func(o ordeal) int64 { return o.over }),
			fmt.Sprintf("%.2fx", slices.Max(shares(p.rounds))),
			spanText(p.rounds, func(o ordeal) int64 { return o.forgotten }),
			fmt.Sprintf("%.2f s (%.2f to %.2f)", figureOf(outages).median, slices.Min(outages), slices.Max(outages)),
		})
	}
	return rows
}

// spanText is the median of the rounds, and the least and the largest.
func spanText(rounds []ordeal, of func(ordeal) int64) string {
	var all []float64
	for _, o := range rounds {
		all = append(all, float64(of(o)))
	}
	return fmt.Sprintf("%s (%s to %s)", countText(figureOf(all).median), countText(slices.Min(all)), countText(slices.Max(all)))
}

func seconds(rounds []ordeal) (all []float64) {
	for _, o := range rounds {
		all = append(all, o.outage.Round(time.Millisecond).Seconds())
	}
	return all
}

func shares(rounds []ordeal) (all []float64) {
	for _, o := range rounds {
		all = append(all, o.worst)
	}
	return all
}
