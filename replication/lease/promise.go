package lease

import (
	"sync"
	"time"
)

// A Promise is the promise of a voter to elect no node other than its leader. Concurrency: any
// goroutine.
type Promise struct {
	clock  func() time.Duration
	length time.Duration

	mu   sync.Mutex
	term uint64 // of the leader; 0: the leader is unknown
	from time.Duration
}

// NewPromise returns the promise of a node that starts; it begins now. length is the length of each
// promise. clock must never be set.
func NewPromise(clock func() time.Duration, length time.Duration) *Promise {
	return &Promise{clock: clock, length: length, from: clock()}
}

// Renew begins the promise to the leader of term anew. It must precede the answer to that leader.
func (p *Promise) Renew(term uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term, p.from = term, p.clock()
}

// Left returns the remaining time of the promise; 0: it is over. released is the term of a leader
// that has handed its leadership over, or 0. It ends a promise to the leader of that or an earlier
// term. current is the term of the node.
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
