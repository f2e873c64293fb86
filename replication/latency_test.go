package replication

import (
	"testing"
	"time"
)

func TestDurations(t *testing.T) {
	for _, tt := range []struct {
		name  string
		took  []time.Duration // each of them 50 times
		least time.Duration
		most  time.Duration
	}{
		{"is 0 without values", nil, 0, 0},
		{"is that of all alike", []time.Duration{time.Millisecond, time.Millisecond}, time.Millisecond, 2 * time.Millisecond},
		{"is the longer of two", []time.Duration{time.Microsecond, time.Second}, time.Second, 2 * time.Second},
		{"has a most", []time.Duration{1 << 62}, 1, 1 << 62},
		{"counts a negative duration as 0", []time.Duration{-time.Second}, 0, time.Microsecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d latencyHistogram
			for _, took := range tt.took {
				for range 50 {
					d.add(took)
				}
			}
			if got := d.p99(); got < tt.least || got > tt.most {
				t.Errorf("p99 is %v, want %v to %v", got, tt.least, tt.most)
			}
		})
	}
	var d latencyHistogram
	for range 99 {
		d.add(time.Millisecond)
	}
	d.add(time.Minute)
	if got := d.p99(); got > 2*time.Millisecond {
		t.Errorf("one of a hundred that takes a minute makes p99 %v", got)
	}
	d.add(time.Minute)
	if got := d.p99(); got < time.Minute {
		t.Errorf("two of 101 that take a minute make p99 %v", got)
	}
}
