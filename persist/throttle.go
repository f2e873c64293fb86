package persist

import (
	"sync/atomic"
	"time"
)

// maxBurst is the working time between two pauses.
const maxBurst = 2 * time.Millisecond

// A throttle slows a background goroutine down: each pause is as long as the work before
// it, so the goroutine takes half of the processor and disk time that it otherwise would.
type throttle struct {
	hurry *atomic.Bool // if true, no pauses
	since time.Time    // start of the current work
}

// pause sleeps if the work since the last pause is long enough.
func (r *throttle) pause() {
	worked := time.Since(r.since)
	if worked < maxBurst {
		return
	}
	if !r.hurry.Load() {
		time.Sleep(worked)
	}
	r.since = time.Now()
}
