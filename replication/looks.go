package replication

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/replication/batch"
)

// A lookQueue holds the read-only batches that wait until a majority confirms that this node leads.
// A single round of heartbeats serves all batches that wait when it begins. Concurrency: any
// goroutine.
type lookQueue struct {
	any    atomic.Bool // waiting is not empty
	kicked chan struct{}

	mu      sync.Mutex
	waiting []waitingLook
	closed  bool
}

// A waitingLook is a read-only batch that arrived at the time asked, on Options.lasting, or
// earlier.
type waitingLook struct {
	batch.Request
	asked time.Duration
}

func newLookQueue() *lookQueue { return &lookQueue{kicked: make(chan struct{}, 1)} }

// add queues a look until the next kick. After close, it calls Done with errStopped.
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

// kickIfAny makes answerLooks try again if looks wait.
func (q *lookQueue) kickIfAny() {
	if !q.any.Load() {
		return
	}
	select {
	case q.kicked <- struct{}{}:
	default:
	}
}

// take removes and returns all looks.
func (q *lookQueue) take() []waitingLook {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	q.any.Store(false)
	return all
}

// requeue puts looks back, before the looks that have arrived meanwhile.
func (q *lookQueue) requeue(rest []waitingLook) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = slices.Concat(rest, q.waiting)
	q.any.Store(len(q.waiting) > 0)
}

// close answers all waiting and later looks with errStopped.
func (q *lookQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	for _, w := range q.take() {
		w.Done(errStopped)
	}
}
