// Package beat gives all periodic work of the process the same moments: an idle process
// then wakes up once a second for all that is done once a second.
package beat

import "time"

// Wait is how long it is to the next beat: a whole multiple of period since the Unix
// epoch. A beat that is less than a quarter of the period away is left out: a timer that
// fired early, by the clock of the system, would meet its beat twice. Requires that period
// is more than 0.
func Wait(period time.Duration) time.Duration { return until(time.Now(), period) }

func until(now time.Time, period time.Duration) time.Duration {
	wait := period - time.Duration(now.UnixNano()%int64(period))
	if wait < period/4 {
		wait += period
	}
	return wait
}
