package persist

import "time"

// maxRetryDoublings bounds how often the pause is doubled.
const maxRetryDoublings = 5

// A Retry computes the pauses between attempts: Every after the first failure, and twice as long
// after each further failure, up to 32 times Every. Concurrency: not safe for concurrent use.
type Retry struct {
	Every time.Duration
	tries int
}

// Pause returns the time until the next attempt. Call it after each failed attempt.
func (r *Retry) Pause() time.Duration {
	pause := r.Every << r.tries
	r.tries = min(r.tries+1, maxRetryDoublings)
	return pause
}

// Reset must be called after a successful attempt.
func (r *Retry) Reset() { r.tries = 0 }
