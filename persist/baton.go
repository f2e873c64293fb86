package persist

import "time"

// A baton is a mutex that can be waited for with a bound.
type baton chan struct{}

func newBaton() baton { return make(baton, 1) }

func (g baton) lock() { g <- struct{}{} }

// tryLock says whether it got the baton at once.
func (g baton) tryLock() bool {
	select {
	case g <- struct{}{}:
		return true
	default:
		return false
	}
}

// lockWithin says whether it got the baton within d.
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
