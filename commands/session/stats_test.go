package session

import (
	"testing"
	"time"
)

func TestOpsRate(t *testing.T) {
	var r throughput
	start := time.Now()
	for _, tt := range []struct {
		name  string
		after time.Duration
		total int64
		want  int64
	}{
		{"is 0 at first", 0, 100, 0},
		{"counts since the last sample", time.Second, 1100, 1000},
		{"keeps it for a moment", time.Second + 50*time.Millisecond, 1200, 1000},
		{"counts over the time passed", 3 * time.Second, 2100, 500},
	} {
		if got := r.sample(start.Add(tt.after), tt.total); got != tt.want {
			t.Errorf("%s: sample(+%v, %d) = %d, want %d", tt.name, tt.after, tt.total, got, tt.want)
		}
	}
}
