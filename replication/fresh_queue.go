package replication

import "sync"

// A freshQueue has the callers of Fresh that wait. One question to the leader serves all that wait
// when it is asked. Concurrency: any goroutine.
type freshQueue struct {
	kicked chan struct{}

	mu      sync.Mutex
	waiting []func(error)
	closed  bool
}

func newFreshQueue() *freshQueue { return &freshQueue{kicked: make(chan struct{}, 1)} }

// add queues a caller. After close it is refused.
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

// take removes all callers; last: and refuses later ones.
func (q *freshQueue) take(last bool) []func(error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting
	q.waiting = nil
	q.closed = q.closed || last
	return all
}
