package replication

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/link"
)

// A request is a batch and its callback. The batch must not be touched until done is
// called.
type request struct {
	batch *engine.Batch
	done  func(error)
}

// errNotAccepted: a batch was certainly not applied, and may be retried elsewhere.
var errNotAccepted = errors.New("the leader did not accept the request")

// Bounds of forwarding.
const (
	// maxForwardOps bounds the ops that wait for one leader, written or not, and the ops
	// of a forwarded batch.
	maxForwardOps = 1 << 18
	// maxForwardBytes bounds a frame.
	maxForwardBytes = 32 << 20
	// redialAfter is the time after a failed dial or a lost link during which nothing is
	// forwarded to that node.
	redialAfter = 50 * time.Millisecond
)

// A forwarder sends requests to the leader over one link, which is dialed at the first
// request. Concurrency: any goroutine.
type forwarder struct {
	o    forwarderOptions
	wait sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	current *forwardLink              // nil: none
	all     map[*forwardLink]struct{} // current and links to earlier leaders
	lost    forwardTarget             // the target of the last link that was lost, and the time
	lostAt  time.Time
}

// A forwardTarget is a node at an address.
type forwardTarget struct{ address, node string }

// forwarderOptions configure a forwarder.
type forwarderOptions struct {
	links *link.Links
	log   *slog.Logger
	// timeout bounds the answers of an earlier leader, which has a quarter of it.
	timeout time.Duration
	// answerTimeout bounds the current leader's answers: longer than its disk may take.
	answerTimeout time.Duration
}

// newForwarder returns a forwarder without a link. The caller must close it.
func newForwarder(o forwarderOptions) *forwarder {
	return &forwarder{o: o, all: make(map[*forwardLink]struct{})}
}

// send sends requests to the leader, the node at address, in order, and returns the number
// accepted: fewer than all beyond maxForwardOps, where the rest must wait for room. It
// does not block. The done of each accepted request is called once, from any goroutine,
// this one included:
//
//   - with nil, and the Decisions of the batch in place;
//   - with errNotAccepted: it was certainly not applied;
//   - with persist.ErrUncertain: the link was lost, or the leader has answered nothing for
//     answerTimeout;
//   - or with the leader's error, with the same text and the same Code, if any.
//
// Requests sent while a link is dialed wait for it. The caller may reuse requests when
// send returns.
func (f *forwarder) send(address, node string, requests []request) (taken int) {
	link := f.link(forwardTarget{address, node})
	if link == nil {
		refuseAll(requests)
		return len(requests)
	}
	taken, full := link.add(requests)
	if full {
		return taken
	}
	refuseAll(requests[taken:])
	return len(requests)
}

// refuseAll answers requests with errNotAccepted.
func refuseAll(requests []request) {
	for _, r := range requests {
		r.done(errNotAccepted)
	}
}

// link returns the link to a leader and dials one if there is none; nil before redialAfter
// has passed.
func (f *forwarder) link(to forwardTarget) *forwardLink {
	f.mu.Lock()
	if k := f.current; k != nil && k.to == to {
		f.mu.Unlock()
		return k
	}
	before := f.current
	f.current = nil
	if !f.closed && (f.lost != to || time.Since(f.lostAt) >= redialAfter) {
		f.current = newForwardLink(f, to)
		f.all[f.current] = struct{}{}
		f.wait.Add(1)
		go f.current.run()
	}
	k := f.current
	f.mu.Unlock()
	if before != nil {
		before.retire(true)
	}
	return k
}

// renew retires the link if it was made with a secret that is not the current one.
func (f *forwarder) renew() {
	first := f.o.links.Secret()
	f.retireIf(func(k *forwardLink) bool { return k.secret != first }, false)
}

// leaderIs retires the link to an earlier leader, which may never answer.
func (f *forwarder) leaderIs(node string) {
	f.retireIf(func(k *forwardLink) bool { return k.to.node != node }, true)
}

// retireIf retires the current link if it is stale. deposed: because another node leads.
func (f *forwarder) retireIf(stale func(*forwardLink) bool, deposed bool) {
	f.mu.Lock()
	before := f.current
	if before == nil || !stale(before) {
		f.mu.Unlock()
		return
	}
	f.current = nil
	f.mu.Unlock()
	before.retire(deposed)
}

// linkEnded is called by a link when it has ended.
func (f *forwarder) linkEnded(k *forwardLink) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, k)
	if f.current == k {
		f.current = nil
		f.lost, f.lostAt = k.to, time.Now()
	}
}

// close ends all links. It returns when the done of every request has been called.
func (f *forwarder) close() {
	f.mu.Lock()
	f.closed = true
	f.current = nil
	all := make([]*forwardLink, 0, len(f.all))
	for k := range f.all {
		all = append(all, k)
	}
	f.mu.Unlock()
	for _, k := range all {
		k.stop()
	}
	f.wait.Wait()
}
