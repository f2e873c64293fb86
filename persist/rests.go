package persist

import (
	"sync/atomic"
	"time"
)

// workAtOnce is for how long a snapshot is written before a rest.
const workAtOnce = 2 * time.Millisecond

// Rests are those of a goroutine that works beside others: each is as long as the
// work before it, so that decisions have half of the processor and of the disk that
// it would take.
type Rests struct {
	hurry *atomic.Bool // there are none
	since time.Time    // when the work began
}

// NewRests begins with work. While hurry is set there are no rests.
func NewRests(hurry *atomic.Bool) *Rests { return &Rests{hurry: hurry, since: time.Now()} }

// Pause rests, if it is time.
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
