package persist

import "sync/atomic"

// A signal wakes one goroutine. It has a capacity of 1.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// send wakes the goroutine, or has the next receive return at once. It does not block.
func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// activity tells a periodic goroutine whether there is work, so that it sets no timer when
// idle. Concurrency: any goroutine may call mark; a calls seen and wait.
type activity struct {
	marked  atomic.Bool // since the last call of seen
	waiting atomic.Bool
	wake    signal
}

func newActivity() activity { return activity{wake: newSignal()} }

// mark reports work and wakes the goroutine if it waits.
//
// Cost: two atomic loads if mark was called since the last seen.
func (l *activity) mark() {
	if !l.marked.Load() {
		l.marked.Store(true)
	}
	if l.waiting.Load() {
		l.wake.send()
	}
}

// seen reports whether mark was called since the last call of seen.
func (l *activity) seen() bool { return l.marked.Swap(false) }

// wait blocks until mark has been called since the last seen, and returns true, or until
// done is closed, and returns false. It may return true spuriously.
func (l *activity) wait(done <-chan struct{}) bool {
	l.waiting.Store(true)
	defer l.waiting.Store(false)
	if l.marked.Load() { // mark was called before waiting was set, so it sends no wake-up
		return true
	}
	select {
	case <-l.wake:
		return true
	case <-done:
		return false
	}
}
