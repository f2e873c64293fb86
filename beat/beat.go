// Package beat aligns all periodic work of the process to the same moments, so that an
// idle process wakes up once a second for all work that is done once a second.
package beat

import "time"

// Wait returns the time until the next beat, which is a whole multiple of period since
// the Unix epoch. It skips a beat that is less than a quarter of the period away, because
// a timer that fires early by the system's clock would otherwise meet its beat twice.
// Requires: period is more than 0.
func Wait(period time.Duration) time.Duration { return until(time.Now(), period) }

func until(now time.Time, period time.Duration) time.Duration {
	wait := period - time.Duration(now.UnixNano()%int64(period))
	if wait < period/4 {
		wait += period
	}
	return wait
}
