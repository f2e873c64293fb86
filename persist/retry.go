package persist

import "time"

// maxRetryDoublings bounds the doublings of the time between two attempts.
const maxRetryDoublings = 5

// A Retry is the pause between attempts at something that fails: Every after the first
// failure, and twice as long after each further one, up to 32 times Every. Concurrency: one
// goroutine at a time.
type Retry struct {
	Every time.Duration
	tries int
}

// Pause returns the time until the next attempt, after one that failed.
func (r *Retry) Pause() time.Duration {
	pause := r.Every << r.tries
	r.tries = min(r.tries+1, maxRetryDoublings)
	return pause
}

// Reset is called after an attempt that succeeded.
func (r *Retry) Reset() { r.tries = 0 }
