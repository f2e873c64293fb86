package batch

import "sync"

// A Round holds callers that wait for the same answer. A single answer serves all callers that wait
// when it is asked for. Concurrency: any goroutine.
type Round struct {
	stopped error
	kicked  chan struct{}

	mu      sync.Mutex
	waiting []func(error)
	closed  bool
}

// NewRound returns a Round without callers. Callers that are left at the end of Run, and later callers,
// get the error stopped.
func NewRound(stopped error) *Round { return &Round{stopped: stopped, kicked: make(chan struct{}, 1)} }

// Add adds a caller. It calls done exactly once, before it returns or later from the goroutine of Run.
func (r *Round) Add(done func(error)) {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.waiting = append(r.waiting, done)
	}
	r.mu.Unlock()
	if closed {
		done(r.stopped)
		return
	}
	select {
	case r.kicked <- struct{}{}:
	default:
	}
}

// Run answers the callers with the result of ask, until stopping is closed. ask may block.
func (r *Round) Run(stopping <-chan struct{}, ask func() error) {
	for {
		select {
		case <-stopping:
			for _, done := range r.take(true) {
				done(r.stopped)
			}
			return
		case <-r.kicked:
		}
		all := r.take(false)
		if len(all) == 0 {
			continue
		}
		err := ask()
		for _, done := range all {
			done(err)
		}
	}
}

// take removes and returns all callers. With last, Add rejects all later callers.
func (r *Round) take(last bool) []func(error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.waiting
	r.waiting = nil
	r.closed = r.closed || last
	return all
}
