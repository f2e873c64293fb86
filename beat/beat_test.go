package beat

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestUntil(t *testing.T) {
	for _, tt := range []struct {
		name         string
		now          time.Duration // since the epoch
		period, want time.Duration
	}{
		{"on the beat", 7 * time.Second, time.Second, time.Second},
		{"after it", 7*time.Second + 1, time.Second, time.Second - 1},
		{"long before the next", 7200 * time.Millisecond, time.Second, 800 * time.Millisecond},
		{"a quarter before", 7750 * time.Millisecond, time.Second, 250 * time.Millisecond},
		{"just before", 8*time.Second - 1, time.Second, time.Second + 1},
		{"a short period", 7010 * time.Millisecond, 20 * time.Millisecond, 10 * time.Millisecond},
		{"the shortest period", 7 * time.Second, 1, 1},
	} {
		if got := until(time.Unix(0, int64(tt.now)), tt.period); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestTogether starts goroutines at different moments and checks that they wake together.
// TestTogether has goroutines that begin at different moments wait.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10
		woke := make(chan time.Time, n)
		for range n {
			go func() {
				time.Sleep(Wait(time.Second))
				time.Sleep(Wait(time.Second))
				woke <- time.Now()
			}()
			time.Sleep(70 * time.Millisecond)
		}
		for range n {
			if at := <-woke; at.Nanosecond() != 0 {
				t.Errorf("woke at %v, want a whole second", at)
			}
		}
	})
}
