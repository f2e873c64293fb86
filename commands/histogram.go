package commands

import (
	"math/bits"
	"sync/atomic"
)

// A histogram counts durations in nanoseconds. Eight buckets for each power of
// two: what it tells is at most an eighth too high. Many may call at once.
type histogram struct {
	counts [histogramBuckets]atomic.Int64
}

const (
	bucketBits       = 3
	histogramBuckets = 38 << bucketBits // up to 2^40 ns, 18 minutes, which longer ones count as
)

// bucketOf is the bucket of a duration.
func bucketOf(nanos int64) int {
	n := uint64(max(nanos, 0))
	shift := max(0, bits.Len64(n)-bucketBits-1)
	return min(shift<<bucketBits+int(n>>shift), histogramBuckets-1)
}

// bucketEnd is the longest duration of a bucket.
func bucketEnd(bucket int) int64 {
	shift := max(0, bucket>>bucketBits-1)
	return int64(bucket-shift<<bucketBits+1)<<shift - 1
}

// total is how many durations there were.
func (h *histogram) total() (n int64) {
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return n
}

// distribution is what histograms of several stripes have together.
type distribution [histogramBuckets]int64

func (d *distribution) add(h *histogram) {
	for i := range h.counts {
		d[i] += h.counts[i].Load()
	}
}

func (d *distribution) total() (n int64) {
	for _, c := range d {
		n += c
	}
	return n
}

// percentile is the duration, in nanoseconds, that so many of a thousand do not
// exceed.
func (d *distribution) percentile(perMille int64) int64 {
	need := (d.total()*perMille + 999) / 1000
	for i, n := range d {
		if need -= n; need <= 0 {
			return bucketEnd(i)
		}
	}
	return 0
}

// A latencyStep says how many durations were at most so many microseconds.
type latencyStep struct{ micros, count int64 }

// steps are those of LATENCY HISTOGRAM: powers of two, as far as they differ, up
// to the one that has all.
func (d *distribution) steps() (all []latencyStep) {
	var sum, last int64
	limit := int64(1)
	for i, n := range d {
		for bucketEnd(i) > limit*1000 {
			if sum > last {
				all, last = append(all, latencyStep{limit, sum}), sum
			}
			limit *= 2
		}
		sum += n
	}
	if sum > last {
		all = append(all, latencyStep{limit, sum})
	}
	return all
}
