package batch

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/persist/commit"
	"limitsrv/replication/forward"
	"limitsrv/replication/storage"
)

// A Batcher collects requests while an entry is in flight, and then sends them on: into
// the log if this node leads the cluster, else to the leader. One entry is in flight at a
// time, so that all requests that arrive meanwhile share the next; the state may still be
// applying the previous one.
//
//	Add -> waiting -> [leader: Leader.Propose] -> Done
//	                  [follower: Node.Forward] -> Done
//	                  [no leader: held, then Node.WithoutQuorum] -> Done
//
// Requests that were certainly not applied are retried, for at most Options.MaxHold in all, and no
// longer than MaxHold after the last leader was lost: clients see no error when the leader
// changes.
//
// Concurrency: any goroutine may call the methods, except that one goroutine calls Run.
type Batcher struct {
	o      Options
	kicked chan struct{}

	mu             sync.Mutex
	waiting        commit.Queue[Request]
	retryScheduled bool // a retry timer is running
	// leaderlessSince is the time, by Mono, since which no leader is known; 0: one is.
	leaderlessSince time.Duration
	closed          bool

	uncertain, forwarded atomic.Int64
}

// Options configure a Batcher. All fields are required.
type Options struct {
	Node    Node
	Mono    func() time.Duration // a clock that is never set
	MaxHold time.Duration        // for which a request waits for a leader
	Stopped error                // the answer to requests after Run has ended
}

// A Node is the node that a Batcher serves. Concurrency: any goroutine.
type Node interface {
	Role() Role
	// Forward sends the first requests to the leader, and returns their number.
	Forward(leader storage.Server, all []forward.Request) int
	// WithoutQuorum answers a request that no leader can decide.
	WithoutQuorum(forward.Request)
}

// A Role is a node's role in its cluster at one moment.
type Role struct {
	// Elected is set if the node was elected. It decides once Leader is set.
	Elected bool
	Leader  Leader
	// Elsewhere is the leader if it is another node; zero: unknown.
	Elsewhere storage.Server
}

// A Leader is the log of a node that leads.
type Leader interface {
	// Propose puts a group of the first requests, at least one, into the log as one entry. It
	// returns when the entry is being applied, and the group is answered later. A group that
	// is not Logged is answered. With forward.ErrNotAccepted the entry is certainly in no log, and
	// with any other error it may be: the caller then answers the group, or tries again. The group
	// is valid until the next call.
	Propose(all []Request) (*commit.Group[Request], error)
}

// A Request came from a client of this node, or from another node, which retries by itself.
type Request struct {
	forward.Request
	Remote bool
	since  time.Duration // by Options.Mono: the first failed attempt; 0: none failed yet
}

// Batch returns the batch. Batch and Answer implement commit.Request.
func (r Request) Batch() *engine.Batch { return r.Request.Batch }

// Answer calls Done.
func (r Request) Answer(err error) { r.Done(err) }

// RetryAfter is the delay before a retry, unless a kick comes earlier.
const RetryAfter = 5 * time.Millisecond

// New makes a Batcher, which sends nothing before Run.
func New(o Options) *Batcher { return &Batcher{o: o, kicked: make(chan struct{}, 1)} }

// Add queues a request for the next kick. After the end of Run it is refused.
func (b *Batcher) Add(r Request) {
	b.mu.Lock()
	if !b.closed {
		b.waiting.Add(r)
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	r.Done(b.o.Stopped)
}

// Kick has Run send the waiting requests on.
func (b *Batcher) Kick() {
	select {
	case b.kicked <- struct{}{}:
	default:
	}
}

// Counts returns totals since the start: the requests answered by the leader, and those answered
// UNCERTAIN.
func (b *Batcher) Counts() (forwarded, uncertain int64) {
	return b.forwarded.Load(), b.uncertain.Load()
}

// Held returns the number of requests that wait to be sent on.
func (b *Batcher) Held() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return int64(b.waiting.Len())
}

// Leaderless returns the time for which no leader has been known; 0: one is.
func (b *Batcher) Leaderless() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leaderlessSince == 0 {
		return 0
	}
	return b.o.Mono() - b.leaderlessSince
}

// Run sends waiting requests on until ctx ends. Then it refuses those that wait.
func (b *Batcher) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			b.close()
			return
		case <-b.kicked:
		}
		for b.step() {
		}
	}
}

// close refuses the waiting requests and all later requests.
func (b *Batcher) close() {
	b.mu.Lock()
	b.closed = true
	all := b.waiting.Take()
	b.mu.Unlock()
	for _, r := range all {
		r.Done(b.o.Stopped)
	}
}

// step sends waiting requests on, and reports whether to call it again at once.
func (b *Batcher) step() bool {
	role := b.o.Node.Role()
	b.noteLeader(role.Elected || role.Elsewhere.Raft != "")
	all := b.takeWaiting()
	switch {
	case len(all) == 0:
	case role.Leader != nil:
		return b.propose(role.Leader, all)
	case role.Elsewhere.Raft == "":
		b.hold(all)
	default:
		b.forward(role.Elsewhere, all)
	}
	return false
}

// noteLeader records whether a leader is known.
func (b *Batcher) noteLeader(known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case known:
		b.leaderlessSince = 0
	case b.leaderlessSince == 0:
		b.leaderlessSince = max(b.o.Mono(), 1)
	}
}

// takeWaiting returns the waiting requests.
func (b *Batcher) takeWaiting() []Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.retryScheduled = false
	return b.waiting.Take()
}

// requeue puts rest, a tail of all, in front of the requests that arrived meanwhile.
func (b *Batcher) requeue(rest, all []Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting.Return(rest, all)
}

// propose puts requests into the log as one entry, and waits until it is being applied or failed.
func (b *Batcher) propose(leader Leader, all []Request) bool {
	group, err := leader.Propose(all)
	n := group.Len()
	b.requeue(all[n:], all)
	switch {
	case err == nil:
		return group.Logged() || len(all) > n
	case errors.Is(err, forward.ErrNotAccepted):
		b.retry(group.Requests())
		return false
	}
	b.uncertain.Add(int64(n))
	group.Answer(persist.ErrUncertain)
	return true
}

// forward sends requests to the leader. Requests forwarded to us are refused; their node
// retries. Requests beyond the forwarder's bound are requeued without counting against
// MaxHold, because a leader exists.
func (b *Batcher) forward(leader storage.Server, all []Request) {
	own := make([]forward.Request, 0, len(all))
	mine := all[:0]
	for _, r := range all {
		if r.Remote {
			r.Done(forward.ErrNotAccepted)
			continue
		}
		mine = append(mine, r)
		own = append(own, forward.Request{Batch: r.Request.Batch, Done: func(err error) { b.answered(r, err) }})
	}
	if len(own) > 0 {
		mine = mine[b.o.Node.Forward(leader, own):]
		for i := range mine {
			mine[i].since = 0
		}
		b.retry(mine)
	}
	b.requeue(nil, all)
}

// answered is called with the leader's answer to a forwarded request, or with the error
// of the link.
func (b *Batcher) answered(r Request, err error) {
	switch {
	case errors.Is(err, forward.ErrNotAccepted):
		b.retry([]Request{r})
		return
	case errors.Is(err, persist.ErrUncertain):
		b.uncertain.Add(1)
	case err == nil:
		b.forwarded.Add(1)
	}
	r.Done(err)
}

// hold requeues requests until there is a leader, and answers those that waited too long.
func (b *Batcher) hold(all []Request) {
	own := append([]Request(nil), all...)
	b.requeue(nil, all)
	b.retry(own)
}

// retry requeues requests that were not applied, or answers those that waited too long.
func (b *Batcher) retry(all []Request) {
	now := b.o.Mono()
	var over []Request
	b.mu.Lock()
	for _, r := range all {
		if r.since == 0 {
			r.since = max(now, 1)
		}
		leaderless := b.leaderlessSince > 0 && (r.Remote || now-b.leaderlessSince >= b.o.MaxHold)
		if b.closed || leaderless || now-r.since >= b.o.MaxHold {
			over = append(over, r)
			continue
		}
		b.waiting.Add(r)
	}
	if b.waiting.Len() > 0 && !b.retryScheduled {
		b.retryScheduled = true
		time.AfterFunc(RetryAfter, b.Kick)
	}
	b.mu.Unlock()
	for _, r := range over {
		if r.Remote {
			r.Done(forward.ErrNotAccepted)
			continue
		}
		b.o.Node.WithoutQuorum(r.Request)
	}
}
