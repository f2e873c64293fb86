package main

import (
	"strings"
	"testing"
	"time"
)

// redisBenchmarkReport is a shortened report of redis-benchmark 7.0.
const redisBenchmarkReport = "\rEVALSHA: rps=0.0 (overall: 0.0)\r\r====== EVALSHA ... ======\n" +
	`  50000 requests completed in 0.04 seconds
  50 parallel clients

Latency by percentile distribution:
0.000% <= 0.095 milliseconds (cumulative count 16)
50.000% <= 0.271 milliseconds (cumulative count 26032)
99.805% <= 1.423 milliseconds (cumulative count 49904)
99.902% <= 1.495 milliseconds (cumulative count 49952)
100.000% <= 1.575 milliseconds (cumulative count 50000)

Cumulative distribution of latencies:
0.032% <= 0.103 milliseconds (cumulative count 16)
100.000% <= 1.607 milliseconds (cumulative count 50000)

Summary:
  throughput summary: 1315789.50 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.375     0.088     0.271     0.799     0.935     1.575
`

func TestParseRedisBenchmark(t *testing.T) {
	got, err := parseRedisBenchmark(redisBenchmarkReport)
	want := outcome{
		perSecond: 1315789.50,
		latency:   latency{p50: 271 * time.Microsecond, p99: 935 * time.Microsecond, p999: 1495 * time.Microsecond},
	}
	if err != nil || got != want {
		t.Errorf("parseRedisBenchmark = %+v, %v\nwant %+v", got, err, want)
	}
}

func TestParseRedisBenchmarkRejects(t *testing.T) {
	for _, tt := range []struct{ name, old, new string }{
		{"no throughput", "throughput summary: 1315789.50 requests", "nothing"},
		{"a malformed throughput", "1315789.50", "many"},
		{"no quantile beyond 99 %", "% <= ", " or less "},
		{"no summary of latency", "p99", "p98"},
		{"a summary with fewer values than names", "     0.935     1.575", ""},
	} {
		report := strings.ReplaceAll(redisBenchmarkReport, tt.old, tt.new)
		if got, err := parseRedisBenchmark(report); err == nil {
			t.Errorf("%s: parseRedisBenchmark = %+v, want an error", tt.name, got)
		}
	}
}
