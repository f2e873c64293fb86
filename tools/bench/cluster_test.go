package main

import (
	"strings"
	"testing"
	"time"
)

func TestClusterRow(t *testing.T) {
	one := sample{outcome{perSecond: 1e6, latency: latency{p50: 1e6, p99: 2e6, p999: 3e6}}, []time.Duration{1000}, 500}
	three := one
	three.cpu = []time.Duration{1000, 2000, 3000}
	three.perSecond = 4e5
	for _, tt := range []struct {
		load int
		runs [][]sample
		want string
	}{
		{0, [][]sample{{one}, {three}},
			"leader, 16 conn, pipeline 32|1 M/s ±0 %, 1.00 / 2.00 / 3.00 ms, 1.00 µs, load 0.50|" +
				"400 k/s ±0 %, 1.00 / 2.00 / 3.00 ms, 1.00 + 2.00 + 3.00 µs, load 0.20|0.40x ±0 %"},
		{2, [][]sample{nil, {three}},
			"follower, 16 conn, pipeline 32|-|400 k/s ±0 %, 1.00 / 2.00 / 3.00 ms, 1.00 + 2.00 + 3.00 µs, load 0.20|-"},
		{4, [][]sample{nil, nil}, "leader, fixed rate, 64 conn, 100 k/s|-|-|-"},
	} {
		c := clusterLoads(1, 100_000)[tt.load]
		if got := strings.Join(clusterRow(c.String(), tt.runs), "|"); got != tt.want {
			t.Errorf("clusterRow = %s\nwant %s", got, tt.want)
		}
	}
}
