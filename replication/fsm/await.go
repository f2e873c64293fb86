package fsm

import (
	"context"
	"time"

	"limitsrv/engine"
)

// An awaited is an entry for which a goroutine waits.
type awaited struct {
	index   uint64
	reached chan struct{} // closed when it, or a later one, was applied
}

// A noted is a time of the leader, and the monotonic time at which it was noted.
type noted struct {
	now  engine.Instant
	mono time.Duration
}

// Await blocks until the entry at an index, or a later one, was applied, and returns true. It
// returns false if ctx ends first. One goroutine at a time may call it.
func (f *FSM) Await(ctx context.Context, index uint64) bool {
	w := &awaited{index, make(chan struct{})}
	f.awaited.Store(w)
	defer f.awaited.Store(nil)
	if f.Index() >= index {
		return true
	}
	select {
	case <-w.reached:
		return true
	case <-ctx.Done():
		return f.Index() >= index
	}
}

// reach sets the index of the last entry. Requires: applying is held.
func (f *FSM) reach(index uint64) {
	f.index.Store(index)
	if w := f.awaited.Load(); w != nil && index >= w.index && f.awaited.CompareAndSwap(w, nil) {
		close(w.reached)
	}
}

// NotBefore notes a time of the leader: Now is no earlier from then on.
func (f *FSM) NotBefore(now engine.Instant) { f.noted.Store(&noted{now, f.o.Monotonic()}) }
