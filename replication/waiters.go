package replication

import (
	"slices"
	"sync"
)

// waiters are the pending calls of Wait. One goroutine polls the other nodes for all of
// them, so their number does not change the load on the links.
type waiters struct {
	mu     sync.Mutex
	all    map[*waiter]struct{}
	asking bool // the polling goroutine runs; it ends when no call is pending
}

// A waiter waits until a number of other nodes have an entry.
type waiter struct {
	index    uint64
	replicas int
	reached  chan struct{} // closed when they have
}

// add registers x and reports whether the caller must start the polling goroutine.
func (w *waiters) add(x *waiter) (ask bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[*waiter]struct{})
	}
	w.all[x] = struct{}{}
	ask, w.asking = !w.asking, true
	return ask
}

func (w *waiters) drop(x *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, x)
}

// release ends the waits that are satisfied by the last entries of the other nodes, and
// reports whether any remain; if not, the polling goroutine must end.
func (w *waiters) release(last []uint64) bool {
	slices.Sort(last)
	slices.Reverse(last)
	w.mu.Lock()
	defer w.mu.Unlock()
	for x := range w.all {
		if x.replicas <= len(last) && last[x.replicas-1] >= x.index {
			close(x.reached)
			delete(w.all, x)
		}
	}
	w.asking = len(w.all) > 0
	return w.asking
}
