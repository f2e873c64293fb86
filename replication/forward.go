package replication

import (
	"sync"
	"time"

	"limitsrv/engine"
)

// A request is a batch, and what to do when it is answered. Until
// then the batch is not its owner's.
type request struct {
	batch *engine.Batch
	done  func(error)
}

// Bounds of forwarding.
const (
	// maxForwardOps is how many ops wait for one leader, written or not, and how many a
	// batch may have that is forwarded.
	maxForwardOps = 1 << 18
	// maxForwardBytes bounds a frame.
	maxForwardBytes = 32 << 20
	// redialAfter is how long after a link was lost, or could not be made, nothing is
	// forwarded.
	redialAfter = 50 * time.Millisecond
)

// A forwarder hands requests to the leader, over one link, which is made when the first
// request comes. Many may call its methods at once.
type forwarder struct {
	links *links
	wait  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	current *forwardLink              // nil: none
	all     map[*forwardLink]struct{} // current and those of leaders before
	lost    forwardTarget             // to where the last link was lost, and when
	lostAt  time.Time
}

// A forwardTarget is a node at an address.
type forwardTarget struct{ address, node string }

func newForwarder(l *links) *forwarder {
	return &forwarder{links: l, all: make(map[*forwardLink]struct{})}
}

// send hands requests to the leader, the node at address, in their order, and says how
// many it has dealt with: not those beyond maxForwardOps, which have to wait until there
// is room. It does not block. The done of each of the first taken is called once, from any
// goroutine, this one included:
//
//   - with nil, and the Decisions of the batch in place;
//   - with errNotTaken: it was certainly not carried out;
//   - with errUncertain: the link was lost, or the leader has answered nothing for the
//     timeout of the links;
//   - or with an error of the leader, which has the text of its own and the same Code,
//     if any.
//
// What is sent while a link is made waits for it. requests are the caller's again when
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

// refuse answers that requests were not taken.
func refuseAll(requests []request) {
	for _, r := range requests {
		r.done(errNotAccepted)
	}
}

// link is the link to a leader, made if there is none; nil if it is too early for
// another try.
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

// renew retires the link if it was made with another secret than those that are made now.
func (f *forwarder) renew() {
	first := f.links.o.secrets.current()[0]
	f.retireIf(func(k *forwardLink) bool { return k.secret != first }, false)
}

// leaderIs retires the link to an earlier leader, which may never answer.
func (f *forwarder) leaderIs(node string) {
	f.retireIf(func(k *forwardLink) bool { return k.to.node != node }, true)
}

// retireIf retires the link that is in use, if there is one that is stale.
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

// forget is told that a link has ended.
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
