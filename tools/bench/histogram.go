package main

import (
	"math/bits"
	"time"
)

// A histogram counts latencies in buckets of a width of at most 1/128 of their value, from
// a nanosecond to 70 seconds; longer latencies count as 70 seconds. The zero value is
// empty.
//
// Concurrency: not safe for concurrent use.
type histogram struct {
	counts [(histogramBits - subBits + 1) << subBits]int64
	total  int64
}

const (
	histogramBits = 36 // of the largest latency, in nanoseconds
	subBits       = 7  // of the position within a power of two
)

// add counts a latency n times.
func (h *histogram) add(latency time.Duration, n int64) {
	h.counts[bucketOf(latency)] += n
	h.total += n
}

// quantile returns the least bucket bound that is not exceeded by a share q, 0 to 1, of
// the latencies; 0 if the histogram is empty.
func (h *histogram) quantile(q float64) time.Duration {
	want := int64(q*float64(h.total) + 0.999999)
	seen := int64(0)
	for i, n := range h.counts {
		seen += n
		if n > 0 && seen >= want {
			return boundOf(i)
		}
	}
	return 0
}

// bucketOf numbers the buckets in order of latency: one per nanosecond below
// 1<<subBits, and 1<<subBits per power of two above.
func bucketOf(latency time.Duration) int {
	v := uint64(min(max(latency, 0), 1<<histogramBits-1))
	shift := max(0, bits.Len64(v)-1-subBits)
	return shift<<subBits + int(v>>shift)
}

// boundOf returns the largest latency of a bucket.
func boundOf(bucket int) time.Duration {
	shift := max(0, bucket>>subBits-1)
	return time.Duration((bucket-shift<<subBits+1)<<shift - 1)
}

// A latency summarizes the latencies of requests. Each figure is too high by up to
// 1/128.
type latency struct{ p50, p99, p999, worst time.Duration }

// slowdown is the ratio of the p99 during a disturbance to the p99 before.
func slowdown(before, during latency) float64 {
	return float64(during.p99) / float64(max(1, before.p99))
}

// latencyOf returns the quantiles of seen.
func latencyOf(seen *histogram) latency {
	return latency{seen.quantile(0.5), seen.quantile(0.99), seen.quantile(0.999), seen.quantile(1)}
}
