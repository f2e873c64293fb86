package front

import "sync"

// freshCalls are the callers of Fresh that wait. Concurrency: any goroutine.
type freshCalls struct {
	kicked chan struct{}
	mu     sync.Mutex
	all    []func(error)
	closed bool
}

func newFreshCalls() freshCalls { return freshCalls{kicked: make(chan struct{}, 1)} }

// take removes and returns all callers. last: later callers are refused.
func (f *freshCalls) take(last bool) []func(error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.all
	f.all, f.closed = nil, f.closed || last
	return all
}

// add adds a caller, and returns false after the last take.
func (f *freshCalls) add(done func(error)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.all = append(f.all, done)
	select {
	case f.kicked <- struct{}{}:
	default:
	}
	return true
}
