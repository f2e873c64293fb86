package persist

import (
	"sync/atomic"
	"time"
)

// A Turn is taken by the only snapshot or backup that a node writes at a time. The zero value
// is free. Concurrency: any number of goroutines may call its methods.
type Turn struct{ since atomic.Pointer[time.Time] }

// Take takes the turn and reports true, unless it is taken.
func (t *Turn) Take() bool {
	now := time.Now()
	return t.since.CompareAndSwap(nil, &now)
}

// Free ends the turn. Requires: it is taken by the caller.
func (t *Turn) Free() { t.since.Store(nil) }

// Since returns when the turn was taken, or zero if it is free.
func (t *Turn) Since() time.Time {
	if since := t.since.Load(); since != nil {
		return *since
	}
	return time.Time{}
}
