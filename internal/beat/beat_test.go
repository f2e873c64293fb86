package beat

import (
	"context"
	"slices"
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
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, calls = 10, 3
		woke := make(chan time.Time, n*calls)
		for range n {
			defer Start(func(ctx context.Context) {
				Every(ctx, time.Second, func() { woke <- time.Now() })
			})()
			time.Sleep(70 * time.Millisecond)
		}
		time.Sleep(calls*time.Second - n*70*time.Millisecond)
		synctest.Wait()
		if len(woke) != n*calls {
			t.Errorf("%d calls, want %d", len(woke), n*calls)
		}
		for range len(woke) {
			if at := <-woke; at.Nanosecond() != 0 {
				t.Errorf("woke at %v, want a whole second", at)
			}
		}
	})
}

// TestPeriodChanges halves the period at each call.
func TestPeriodChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		period := 8 * time.Second
		var at []time.Duration
		stop := Start(func(ctx context.Context) {
			EveryFunc(ctx, func() time.Duration { return period }, func() {
				at = append(at, time.Since(begin))
				period /= 2
			})
		})
		time.Sleep(22500 * time.Millisecond)
		stop()
		if want := []time.Duration{8 * time.Second, 16 * time.Second, 20 * time.Second, 22 * time.Second}; !slices.Equal(at,
			want) {
			t.Errorf("calls after %v, want %v", at, want)
		}
	})
}

// TestStopWaits stops during a call: stop waits for its end, and no call follows.
func TestStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		stop := Start(func(ctx context.Context) {
			Every(ctx, time.Second, func() {
				time.Sleep(300 * time.Millisecond)
				calls++
			})
		})
		time.Sleep(1100 * time.Millisecond)
		stop()
		time.Sleep(time.Minute)
		if calls != 1 {
			t.Errorf("%d calls, want 1", calls)
		}
	})
}
