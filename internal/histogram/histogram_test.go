package histogram

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

func TestBuckets(t *testing.T) {
	last := time.Duration(-1)
	for i := range buckets - 1 {
		end := bucketEnd(i)
		if bucketOf(end) != i || bucketOf(end+1) != i+1 || last >= end {
			t.Fatalf("bucket %d ends at %d, which is in %d, and the next in %d", i, end, bucketOf(end), bucketOf(end+1))
		}
		last = end
	}
	for _, d := range []time.Duration{math.MinInt64, -1, 0} {
		if got := bucketOf(d); got != 0 {
			t.Errorf("bucketOf(%d) = %d, want 0", d, got)
		}
	}
	if got := bucketOf(math.MaxInt64); got != buckets-1 {
		t.Errorf("bucketOf(MaxInt64) = %d, want the last", got)
	}
}

// distributionOf returns the distribution of some durations.
func distributionOf(durations ...time.Duration) *Distribution {
	var (
		h Histogram
		d Distribution
	)
	for _, took := range durations {
		h.Add(took, 1)
	}
	d.Add(&h)
	return &d
}

// Percentiles equal the percentiles of a sorted list, or exceed them by at most an eighth.
func TestPercentiles(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	var all []time.Duration
	for range 5000 {
		all = append(all, time.Duration(math.Exp(r.Float64()*20)))
	}
	d := distributionOf(all...)
	slices.Sort(all)
	for _, perMille := range []int64{1, 500, 990, 999, 1000} {
		want := all[(perMille*5000+999)/1000-1]
		if got := d.Percentile(perMille); got < want || float64(got) > float64(want)*1.125+1 {
			t.Errorf("seed %d: Percentile(%d) = %d, want %d or up to an eighth more", seed, perMille, got, want)
		}
	}
}

func TestPercentileAtBoundaries(t *testing.T) {
	for _, tt := range []struct {
		name        string
		durations   []time.Duration
		least, most time.Duration
	}{
		{"without durations", nil, 0, 0},
		{"one of a hundred is longer", append(slices.Repeat([]time.Duration{time.Millisecond}, 99), time.Minute),
			time.Millisecond, 2 * time.Millisecond},
		{"two of 101 are longer", append(slices.Repeat([]time.Duration{time.Millisecond}, 99), time.Minute, time.Minute),
			time.Minute, 2 * time.Minute},
		{"beyond the last bucket", []time.Duration{1 << 62}, time.Minute, time.Hour},
	} {
		if got := distributionOf(tt.durations...).Percentile(990); got < tt.least || got > tt.most {
			t.Errorf("%s: Percentile(990) = %v, want %v to %v", tt.name, got, tt.least, tt.most)
		}
	}
}

func TestSteps(t *testing.T) {
	const unit = 900 * time.Nanosecond
	want := "[{1 1} {4 3} {128 4} {131072 5}]"
	if got := fmt.Sprint(distributionOf(unit, 3*unit, 3*unit, 100*unit, 100_000*unit).Steps()); got != want {
		t.Errorf("Steps() = %s, want %s", got, want)
	}
}

func TestSumAndWithin(t *testing.T) {
	var h Histogram
	for _, took := range []time.Duration{10, 100 * time.Microsecond, 3 * time.Millisecond, time.Second} {
		h.Add(took, 100)
	}
	var d Distribution
	d.Add(&h)
	want := 100 * (10*time.Nanosecond + 100*time.Microsecond + 3*time.Millisecond + time.Second)
	if off := d.Sum() - want; off.Abs() > want/16 {
		t.Errorf("the sum is %v, want %v", d.Sum(), want)
	}
	for limit, want := range map[time.Duration]int64{
		9: 0, 10: 100, 90 * time.Microsecond: 100, 115 * time.Microsecond: 200, 4 * time.Millisecond: 300,
		900 * time.Millisecond: 300, time.Hour: 400,
	} {
		if got := d.Within(limit); got != want {
			t.Errorf("%d took at most %v, want %d", got, limit, want)
		}
	}
	if later := d.Since(*distributionOf(time.Second)); later.Total() != 399 || h.Total() != 400 {
		t.Errorf("%d of %d durations are later, want 399 of 400", later.Total(), h.Total())
	}
}
