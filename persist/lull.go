package persist

import "sync/atomic"

// activity tells a periodic goroutine whether there is work, so that it sets no timer
// when idle. Concurrency: any goroutine may call mark; one calls seen and wait.
type lull struct {
	stirred atomic.Bool // since the last call of seen
	lasts   atomic.Bool
	woken   chan struct{}
}

func newLull() lull { return lull{woken: make(chan struct{}, 1)} }

// mark reports work and wakes the goroutine if it waits.
//
// Cost: two atomic loads if mark was called since the last seen.
func (l *lull) stir() {
	if !l.stirred.Load() {
		l.stirred.Store(true)
	}
	if l.lasts.Load() {
		select {
		case l.woken <- struct{}{}:
		default:
		}
	}
}

// seen reports whether mark was called since the last call of seen.
func (l *lull) over() bool { return l.stirred.Swap(false) }

// wait blocks until mark has been called since the last seen, and returns true, or until
// done is closed, and returns false. It may return true spuriously.
func (l *lull) wait(done <-chan struct{}) bool {
	l.lasts.Store(true)
	defer l.lasts.Store(false)
	if l.stirred.Load() { // mark was called before waiting was set, so it sends no wake-up
		return true
	}
	select {
	case <-l.woken:
		return true
	case <-done:
		return false
	}
}
