package persist

import "sync/atomic"

// A lull is the time without work of a goroutine that otherwise works once in each
// period: it sets no timer then. Any goroutine may call stir, and one calls over and wait.
type lull struct {
	stirred atomic.Bool // since the last call of over
	lasts   atomic.Bool
	woken   chan struct{}
}

func newLull() lull { return lull{woken: make(chan struct{}, 1)} }

// stir says that there is work, and ends the lull, if there is one.
//
// Cost: two atomic loads where it is called again and again.
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

// over says whether stir was called since over was last called.
func (l *lull) over() bool { return l.stirred.Swap(false) }

// wait returns true when stir has been called since over was last called, or false when
// done is closed. At times it returns true without either.
func (l *lull) wait(done <-chan struct{}) bool {
	l.lasts.Store(true)
	defer l.lasts.Store(false)
	if l.stirred.Load() { // stir was called before it could see that it has to wake anybody
		return true
	}
	select {
	case <-l.woken:
		return true
	case <-done:
		return false
	}
}
