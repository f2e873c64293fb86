package persist

import (
	"sync/atomic"
	"time"
)

// maxBurst is the working time between two pauses.
const maxBurst = 2 * time.Millisecond

// A Throttle slows a background goroutine down: each pause is as long as the work before
// it, so the goroutine takes half of the processor and disk time that it otherwise would.
type Throttle struct {
	hurry *atomic.Bool // if true, no pauses
	since time.Time    // start of the current work
}

// NewThrottle returns a Throttle. There are no pauses while hurry is true.
func NewThrottle(hurry *atomic.Bool) *Throttle { return &Throttle{hurry: hurry, since: time.Now()} }

// Pause sleeps if the work since the last pause is long enough.
func (r *Throttle) Pause() {
	worked := time.Since(r.since)
	if worked < maxBurst {
		return
	}
	if !r.hurry.Load() {
		time.Sleep(worked)
	}
	r.since = time.Now()
}
