package main

import (
	"testing"
	"time"
)

func TestHistogramBucketsAreInOrderAndNarrow(t *testing.T) {
	last := -1
	for v := time.Duration(0); v < 1<<histogramBits; v += v/97 + 1 {
		bucket := bucketOf(v)
		if bucket < last {
			t.Fatalf("bucketOf(%d) = %d, below the %d of a smaller one", v, bucket, last)
		}
		last = bucket
		if bound := boundOf(bucket); bound < v || bound > v+v/128 {
			t.Fatalf("%d is in a bucket up to %d, want up to %d at most", v, bound, v+v/128)
		}
	}
	if want := len(histogram{}.counts) - 1; bucketOf(time.Hour) != want {
		t.Errorf("bucketOf(an hour) = %d, want the last, %d", bucketOf(time.Hour), want)
	}
}

func TestHistogramQuantiles(t *testing.T) {
	var h histogram
	for i := range time.Duration(1000) {
		h.add((i+1)*time.Microsecond, 1)
	}
	for _, tt := range []struct {
		q    float64
		want time.Duration
	}{
		{0, time.Microsecond},
		{0.5, 500 * time.Microsecond},
		{0.99, 990 * time.Microsecond},
		{0.999, 999 * time.Microsecond},
		{1, 1000 * time.Microsecond},
	} {
		if got := h.quantile(tt.q); got < tt.want || got > tt.want+tt.want/128 {
			t.Errorf("quantile(%v) = %v, want %v and at most 1/128 more", tt.q, got, tt.want)
		}
	}
	if got := new(histogram).quantile(0.5); got != 0 {
		t.Errorf("quantile of an empty histogram = %v, want 0", got)
	}
}

func TestHistogramQuantileIsNeverTooLow(t *testing.T) {
	var h histogram
	for _, v := range []time.Duration{1, 2, 3} {
		h.add(v, 1)
	}
	if got := h.quantile(0.5); got != 2 {
		t.Errorf("quantile(0.5) of 1, 2 and 3 = %d, want 2", got)
	}
}

func TestHistogramAddsSeveral(t *testing.T) {
	var h histogram
	h.add(time.Microsecond, 98)
	h.add(time.Millisecond, 2)
	if got := h.quantile(0.98); got > 2*time.Microsecond {
		t.Errorf("quantile(0.98) = %v, want a microsecond", got)
	}
	if got := h.quantile(0.99); got < time.Millisecond {
		t.Errorf("quantile(0.99) = %v, want a millisecond", got)
	}
}
