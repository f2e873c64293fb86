package persist

import (
	"sync/atomic"
	"time"
)

// maxBurst is the working time between two pauses.
const workAtOnce = 2 * time.Millisecond

// A Throttle slows a background goroutine down: each pause is as long as the work before
// it, so the goroutine takes half of the processor and disk time that it otherwise would.
type Rests struct {
	hurry *atomic.Bool // if true, no pauses
	since time.Time    // start of the current work
}

// NewThrottle returns a Throttle. There are no pauses while hurry is true.
func NewRests(hurry *atomic.Bool) *Rests { return &Rests{hurry: hurry, since: time.Now()} }

// Pause sleeps if the work since the last pause is long enough.
func (r *Rests) Pause() {
	worked := time.Since(r.since)
	if worked < workAtOnce {
		return
	}
	if !r.hurry.Load() {
		time.Sleep(worked)
	}
	r.since = time.Now()
}
