package replication

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A latencyHistogram counts durations by powers of two of a microsecond. Concurrency: any
// goroutine.
type latencyHistogram struct {
	buckets [32]atomic.Int64
}

func (d *latencyHistogram) add(took time.Duration) {
	d.buckets[min(bits.Len64(uint64(max(took, 0)/time.Microsecond)), len(d.buckets)-1)].Add(1)
}

// p99 returns a duration that at most one in a hundred exceeded since the start, within a
// factor of two; 0 if there was none.
func (d *latencyHistogram) p99() time.Duration {
	var counts [len(d.buckets)]int64
	all := int64(0)
	for i := range counts {
		counts[i] = d.buckets[i].Load()
		all += counts[i]
	}
	for i, left := 0, all-all/100; i < len(counts); i++ {
		if left -= counts[i]; left <= 0 && all > 0 {
			return time.Microsecond << i
		}
	}
	return 0
}
