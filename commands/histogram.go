package commands

import (
	"math/bits"
	"sync/atomic"
)

// A histogram counts durations in nanoseconds, with eight buckets for each power of two:
// a value read from it is at most an eighth too high. Any number of goroutines may use
// it.
type histogram struct {
	counts [histogramBuckets]atomic.Int64
}

const (
	bucketBits       = 3
	histogramBuckets = 38 << bucketBits // up to 2^40 ns, 18 minutes; longer durations count as that
)

// bucketOf returns the bucket of a duration.
func bucketOf(nanos int64) int {
	n := uint64(max(nanos, 0))
	shift := max(0, bits.Len64(n)-bucketBits-1)
	return min(shift<<bucketBits+int(n>>shift), histogramBuckets-1)
}

// bucketEnd returns the longest duration of a bucket.
func bucketEnd(bucket int) int64 {
	shift := max(0, bucket>>bucketBits-1)
	return int64(bucket-shift<<bucketBits+1)<<shift - 1
}

// total returns the number of durations.
func (h *histogram) total() (n int64) {
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return n
}

// distribution is the sum of the histograms of several stripes.
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

// percentile returns the duration, in nanoseconds, that perMille of a thousand do not
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

// A latencyStep is the number of durations of at most micros microseconds.
type latencyStep struct{ micros, count int64 }

// steps returns the rows of LATENCY HISTOGRAM: cumulative counts at powers of two,
// without rows equal to the one before, up to the first row that contains all.
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
