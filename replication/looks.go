package replication

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/fsm"
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

// look answers a read-only batch, or queues it until it can be answered, if this node leads or
// the batch accepts stale reads. It returns false otherwise.
func (n *Node) look(w waitingRequest) bool {
	lead := n.leadership()
	switch {
	case lead.stack == nil:
		return false
	case lead.leading:
		if n.lookUnderLease(lead, w.Batch()) {
			w.Done(nil)
		} else {
			n.looks.add(waitingLook{w, lead.stack.grants.Now()})
		}
		return true
	case w.remote || !w.Batch().Stale || lead.fsm.Diverged():
		return false
	}
	n.evaluate(lead, w.Batch(), lead.fsm.Now())
	w.Done(nil)
	return true
}

// lookUnderLease evaluates a read-only batch, and reports whether this node still had a lease
// then. Requires: this node leads.
func (n *Node) lookUnderLease(lead leadership, batch *engine.Batch) bool {
	if lead.fsm.Level() < fsm.PromisesLevel {
		return false
	}
	n.evaluate(lead, batch, n.clock.now())
	holds, renew := lead.stack.grants.Holds(lead.term)
	if renew {
		lead.stack.transport.Confirm(lead.term)
	}
	return holds && lead.stillLeads()
}

// stillLeads reports whether the node of a leadership leads in the same term now.
func (o *leadership) stillLeads() bool {
	r := o.stack.raft
	return isLeader(r) && r.CurrentTerm() == o.term
}

// answerLooks is the goroutine that answers the looks that wait.
func (n *Node) answerLooks() {
	for {
		var again <-chan time.Time
		if n.tryLooks() {
			again = time.After(retryAfter)
		}
		select {
		case <-n.stopping.Done():
			n.looks.close()
			return
		case <-n.looks.kicked:
		case <-again:
		}
	}
}

// tryLooks answers the looks that were asked for before a majority confirmed this node, and
// begins a round for the others. If this node does not lead, the batcher gets them. It reports
// whether looks remain.
func (n *Node) tryLooks() bool {
	all := n.looks.take()
	if len(all) == 0 {
		return false
	}
	lead := n.leadership()
	if !lead.leading {
		for _, w := range all {
			n.submit(w.waitingRequest)
		}
		n.batcher.kick()
		return false
	}
	rest := all[:0]
	for _, w := range all {
		if !lead.stack.grants.ConfirmedSince(lead.term, w.asked) {
			rest = append(rest, w)
			continue
		}
		n.evaluate(lead, w.Batch(), n.clock.now())
		w.Done(nil)
	}
	if len(rest) == 0 {
		return false
	}
	n.looks.requeue(rest)
	lead.stack.transport.Confirm(lead.term)
	return true
}

// evaluate answers a read-only batch from the state applied here, as of a time.
func (n *Node) evaluate(lead leadership, batch *engine.Batch, now engine.Instant) {
	convertExpects(batch, lead.term)
	batch.Level = callLevel(lead.fsm)
	lead.fsm.Engine().Look(now, batch)
	convertExpects(batch, lead.term) // XOR with the same value restores the ops
	for i := range batch.Ops {
		if batch.Ops[i].Kind == engine.Watch {
			d := &batch.Decisions[i]
			d.Remaining = termFingerprint(d.Remaining, lead.term)
		}
	}
}
