package persist

import "time"

// A timedMutex is a mutex with a timeout.
type baton chan struct{}

func newBaton() baton { return make(baton, 1) }

func (g baton) lock() { g <- struct{}{} }

// tryLock reports whether it locked the mutex without waiting.
func (g baton) tryLock() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

// lockWithin reports whether it locked the mutex within d.
func (g baton) lockWithin(d time.Duration) bool {
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

func (g baton) unlock() { <-g }
