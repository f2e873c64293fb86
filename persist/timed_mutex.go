package persist

import "time"

// A timedMutex is a mutex with a timeout.
type timedMutex chan struct{}

func newTimedMutex() timedMutex { return make(timedMutex, 1) }

func (g timedMutex) lock() { g <- struct{}{} }

// tryLock reports whether it locked the mutex without waiting.
func (g timedMutex) tryLock() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

// lockWithin reports whether it locked the mutex within d.
func (g timedMutex) lockWithin(d time.Duration) bool {
	if g.tryLock() {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case g <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

func (g timedMutex) unlock() { <-g }
