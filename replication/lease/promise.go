package lease

import (
	"sync"
	"time"
)

// A Promise is the promise of a voter to elect no other node than its leader. Concurrency: any
// goroutine.
type Promise struct {
	clock  func() time.Duration
	length time.Duration

	mu   sync.Mutex
	term uint64 // of the leader; 0: of one that is not known
	from time.Duration
}

// NewPromise returns the promise of a node that starts, for the length of a promise. clock must
// never be set.
func NewPromise(clock func() time.Duration, length time.Duration) *Promise {
	return &Promise{clock: clock, length: length, from: clock()}
}

// Renew renews the promise, to the leader of a term. It must precede the answer to that leader.
func (p *Promise) Renew(term uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term, p.from = term, p.clock()
}

// Left returns the time for which the promise holds; 0: it is over. released is the term of a
// leader that has handed its leadership over; 0: no leader has. A promise to that leader, or to an
// earlier leader, is over. current is the term of the node.
func (p *Promise) Left(released, current uint64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	term := p.term
	if term == 0 {
		term = current
	}
	if released > 0 && term <= released {
		return 0
	}
	return max(p.from+p.length-p.clock(), 0)
}
