package auth

import (
	"sync"
	"time"
)

// timers run calls after delays, or when the server shuts down. Concurrency: any number of
// goroutines may use them.
type timers struct {
	after func(time.Duration, func()) // time.AfterFunc, except in tests

	mu    sync.Mutex
	ended bool
	calls map[*timedCall]struct{}
}

// A timedCall has not run yet.
type timedCall struct{ then func() }

func newTimers(after func(time.Duration, func())) *timers {
	return &timers{after: after, calls: map[*timedCall]struct{}{}}
}

// schedule calls then after d, or when the server shuts down.
func (t *timers) schedule(d time.Duration, then func()) {
	c := &timedCall{then}
	t.mu.Lock()
	ended := t.ended
	t.calls[c] = struct{}{}
	t.mu.Unlock()
	if ended {
		d = 0
	}
	t.after(d, func() {
		t.mu.Lock()
		_, waits := t.calls[c]
		delete(t.calls, c)
		t.mu.Unlock()
		if waits {
			then()
		}
	})
}

// end runs all calls, and later calls without a delay.
func (t *timers) end() {
	t.mu.Lock()
	t.ended = true
	calls := t.calls
	t.calls = map[*timedCall]struct{}{}
	t.mu.Unlock()
	for c := range calls {
		c.then()
	}
}
