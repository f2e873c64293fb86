// Package beat aligns all periodic work of the process to the same moments, so that an
// idle process wakes up once a second for all work that is done once a second.
package beat

import (
	"context"
	"sync"
	"time"
)

// Every calls f at each beat of period until ctx ends. A beat is a whole multiple of period
// since the Unix epoch. A beat less than a quarter of the period away is skipped. If f
// takes longer than a period, the next call follows at once. Requires: period is more than
// 0.
func Every(ctx context.Context, period time.Duration, f func()) {
	EveryFunc(ctx, func() time.Duration { return period }, f)
}

// EveryFunc is Every for a period that changes: it is asked for before each call of f.
func EveryFunc(ctx context.Context, period func() time.Duration, f func()) {
	timer := time.NewTimer(wait(period()))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(wait(period()))
		f()
	}
}

// Start calls run in a goroutine. stop ends its context and waits until run returns.
func Start(run func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// wait returns the time until the next beat. It skips a beat that is less than a quarter
// of the period away, because a timer that fires early by the system's clock would
// otherwise meet its beat twice.
func wait(period time.Duration) time.Duration { return until(time.Now(), period) }

func until(now time.Time, period time.Duration) time.Duration {
	wait := period - time.Duration(now.UnixNano()%int64(period))
	if wait < period/4 {
		wait += period
	}
	return wait
}
