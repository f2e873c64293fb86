// Package histogram counts durations in buckets of a relative width, so that percentiles
// of any number of durations take a fixed amount of memory.
package histogram

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A Histogram counts durations in nanoseconds, with eight buckets for each power of two:
// a value read from it is at most an eighth too high. The zero value is empty.
// Concurrency: any number of goroutines may use it.
type Histogram struct {
	counts [buckets]atomic.Int64
}

const (
	bucketBits = 3
	buckets    = 38 << bucketBits // up to 2^40 ns, 18 minutes; longer durations count as that
)

// bucketOf returns the bucket of a duration.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	shift := max(0, bits.Len64(n)-bucketBits-1)
	return min(shift<<bucketBits+int(n>>shift), buckets-1)
}

// bucketEnd returns the longest duration of a bucket.
func bucketEnd(bucket int) time.Duration {
	shift := max(0, bucket>>bucketBits-1)
	return time.Duration(bucket-shift<<bucketBits+1)<<shift - 1
}

// Add counts a duration n times. A negative duration counts as 0. Cost: an atomic addition.
func (h *Histogram) Add(d time.Duration, n int64) { h.counts[bucketOf(d)].Add(n) }

// Total returns the number of durations.
func (h *Histogram) Total() (n int64) {
	for i := range h.counts {
		n += h.counts[i].Load()
	}
	return n
}

// A Distribution is the sum of the counts of any number of Histograms. The zero value is
// empty.
type Distribution [buckets]int64

// Add adds the counts of a Histogram.
func (d *Distribution) Add(h *Histogram) {
	for i := range h.counts {
		d[i] += h.counts[i].Load()
	}
}

// Since returns the durations counted after earlier was read.
func (d Distribution) Since(earlier Distribution) Distribution {
	for i := range d {
		d[i] -= earlier[i]
	}
	return d
}

// Total returns the number of durations.
func (d *Distribution) Total() (n int64) {
	for _, c := range d {
		n += c
	}
	return n
}

// Sum returns the approximate sum of all durations, at most a sixteenth off.
func (d *Distribution) Sum() time.Duration {
	sum := 0.0
	for i, n := range d {
		begin := time.Duration(0)
		if i > 0 {
			begin = bucketEnd(i-1) + 1
		}
		sum += float64(n) * float64(begin+bucketEnd(i)) / 2
	}
	return time.Duration(sum)
}

// Within returns the number of durations of at most limit.
func (d *Distribution) Within(limit time.Duration) (n int64) {
	for i := 0; i < len(d) && bucketEnd(i) <= limit; i++ {
		n += d[i]
	}
	return n
}

// Percentile returns the duration that perMille of a thousand do not exceed; 0 if there are
// no durations.
func (d *Distribution) Percentile(perMille int64) time.Duration {
	need := (d.Total()*perMille + 999) / 1000
	for i, n := range d {
		if need -= n; need <= 0 {
			return bucketEnd(i)
		}
	}
	return 0
}

// A Step is the number of durations of at most Micros microseconds.
type Step struct{ Micros, Count int64 }

// Steps returns cumulative counts at powers of two, up to the first count that contains all
// durations. A count equal to the count before is left out.
func (d *Distribution) Steps() (all []Step) {
	var sum, last int64
	limit := int64(1)
	for i, n := range d {
		for bucketEnd(i) > time.Duration(limit)*time.Microsecond {
			if sum > last {
				all, last = append(all, Step{limit, sum}), sum
			}
			limit *= 2
		}
		sum += n
	}
	if sum > last {
		all = append(all, Step{limit, sum})
	}
	return all
}
