package main

import (
	"strings"
	"testing"
	"time"
)

func TestFailoverRows(t *testing.T) {
	rows := failoverRows([]failoverResult{{"limitsrv", killed, []failoverRun{
		{over: 5, worst: 1.5, forgotten: 7, outage: time.Second},
		{over: 1, worst: 1.1, forgotten: 9, outage: 3 * time.Second},
		{over: 2, worst: 1.2, forgotten: 8, outage: 2 * time.Second},
	}}}, defaultFailover)
	want := "killed|limitsrv|2 (1 to 5)|1.50x|8 (7 to 9)|2.00 s (1.00 to 3.00)"
	if got := strings.Join(rows[1], "|"); got != want || len(rows[0]) != len(rows[1]) {
		t.Errorf("failoverRows = %s\nwant %s", got, want)
	}
}

func TestClusterRows(t *testing.T) {
	one := clusterRun{outcome{perSecond: 1e6, p50: 1e6, p99: 2e6, p999: 3e6}, []time.Duration{1000}, 500}
	three := one
	three.nodes = []time.Duration{1000, 2000, 3000}
	three.perSecond = 4e5
	solo, trio := deployment{name: "one"}, deployment{name: "three"}
	for _, want := range clusterLoads(1) {
		trio.runs = append(trio.runs, clusterRuns{three})
		if want.entry == leaderEntry {
			solo.runs = append(solo.runs, clusterRuns{one})
		} else {
			solo.runs = append(solo.runs, nil)
		}
	}
	rows := clusterRows([]deployment{solo, trio}, defaults)
	for i, want := range []string{
		"node asked|one|three|times one node",
		"leader, 16 conn, pipeline 32|1 M/s ±0 %, 1.00 / 2.00 / 3.00 ms, 1.00 µs, load 0.50|" +
			"400 k/s ±0 %, 1.00 / 2.00 / 3.00 ms, 1.00 + 2.00 + 3.00 µs, load 0.20|0.40x ±0 %",
		"leader, 50 conn, pipeline 1|",
		"follower, 16 conn, pipeline 32|-|400 k/s ±0 %, 1.00 / 2.00 / 3.00 ms, 1.00 + 2.00 + 3.00 µs, load 0.20|-",
		"follower, 50 conn, pipeline 1|-|",
		"leader, fixed rate, 64 conn, 100 k/s|",
	} {
		if got := strings.Join(rows[i], "|"); !strings.HasPrefix(got, want) {
			t.Errorf("row %d = %s\nwant %s", i, got, want)
		}
	}
}
