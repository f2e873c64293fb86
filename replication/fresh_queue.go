package replication

import "sync"

// A freshQueue holds the waiting callers of Fresh. One call of the leader serves all callers that
// wait when it begins. Concurrency: any goroutine.
type freshQueue struct {
	kicked chan struct{}

	mu      sync.Mutex
	waiting []func(error)
	closed  bool
}

func newFreshQueue() *freshQueue { return &freshQueue{kicked: make(chan struct{}, 1)} }

// add queues a caller. After the last take, it calls done with errStopped.
func (q *freshQueue) add(done func(error)) {
	q.mu.Lock()
	closed := q.closed
	if !closed {
		q.waiting = append(q.waiting, done)
	}
	q.mu.Unlock()
	if closed {
		done(errStopped)
		return
	}
	select {
	case q.kicked <- struct{}{}:
	default:
	}
}

// take removes and returns all callers. With last, add rejects all later callers.
func (q *freshQueue) take(last bool) []func(error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	q.closed = q.closed || last
	return all
}
