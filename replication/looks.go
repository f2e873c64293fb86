package replication

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A lookQueue has the read-only batches that wait until a majority confirms that this node leads:
// one round of messages serves all that wait when it begins. Concurrency: any goroutine.
type lookQueue struct {
	any    atomic.Bool // waiting is not empty
	kicked chan struct{}

	mu      sync.Mutex
	waiting []waitingLook
	closed  bool
}

// A waitingLook is a read-only batch that was asked for at a time by Options.lasting, or before.
type waitingLook struct {
	waitingRequest
	asked time.Duration
}

func newLookQueue() *lookQueue { return &lookQueue{kicked: make(chan struct{}, 1)} }

// add queues a look for the next kick. After close it is refused.
func (q *lookQueue) add(w waitingLook) {
	q.mu.Lock()
	if !q.closed {
		q.waiting = append(q.waiting, w)
		q.any.Store(true)
		q.mu.Unlock()
		return
	}
	q.mu.Unlock()
	w.Done(errStopped)
}

// kickIfAny has the looks tried again, if there are some.
func (q *lookQueue) kickIfAny() {
	if !q.any.Load() {
		return
	}
	select {
	case q.kicked <- struct{}{}:
	default:
	}
}

// take removes all looks.
func (q *lookQueue) take() []waitingLook {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	q.any.Store(false)
	return all
}

// requeue puts looks in front of those that arrived meanwhile.
func (q *lookQueue) requeue(rest []waitingLook) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.Concat(rest, q.waiting)
	q.any.Store(len(q.waiting) > 0)
}

// close refuses the waiting looks and all later ones.
func (q *lookQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	for _, w := range q.take() {
		w.Done(errStopped)
	}
}
