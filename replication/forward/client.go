package forward

import (
	"log/slog"
	"sync"
	"time"

	"limitsrv/replication/link"
)

// redialAfter is the time after a failed dial or a lost link when nothing is forwarded to
// that node.
const redialAfter = 50 * time.Millisecond

// A Client sends requests to the leader over a link, which is dialed at the first request.
// Concurrency: any goroutine.
type Client struct {
	o    Options
	wait sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	current *leaderLink              // nil: no link
	all     map[*leaderLink]struct{} // current and links to earlier leaders
	lost    target                   // the target of the last link that was lost, and the time
	lostAt  time.Time
}

// A target is a node at an address.
type target struct{ address, node string }

// Options configure a Client.
type Options struct {
	Links *link.Links
	Log   *slog.Logger
	// Timeout bounds the answers of an earlier leader, which has a quarter of it.
	Timeout time.Duration
	// AnswerTimeout bounds the current leader's answers: longer than its disk may take. While a batch
	// with Work is in flight, the leader has MaxTurnWait more.
	AnswerTimeout time.Duration
}

// MaxTurnWait bounds the time until the leader begins a batch with Work that waits for its turn.
const MaxTurnWait = 10 * time.Second

// New returns a client without a link. The caller must close it.
func New(o Options) *Client {
	return &Client{o: o, all: make(map[*leaderLink]struct{})}
}

// Send sends requests to the leader, the node at address, in order, and returns the number
// accepted: fewer than all beyond a bound of their ops, where the rest must wait for room.
// It does not block. The Done of each accepted request is called once, from any goroutine,
// the caller's included:
//
//   - with nil, and the Decisions of the batch in place;
//   - with ErrNotAccepted: it was certainly not applied;
//   - with persist.ErrUncertain: the link was lost, or the leader has answered nothing in time, see
//     Options.AnswerTimeout;
//   - or with the leader's error, with the same text and the same Code, if any.
//
// Requests sent while a link is dialed wait for it. The caller may reuse requests when
// Send returns.
func (f *Client) Send(address, node string, requests []Request) (taken int) {
	link := f.link(target{address, node})
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

// link returns the link to a leader and dials if there is no link; nil before redialAfter
// has passed.
func (f *Client) link(to target) *leaderLink {
	f.mu.Lock()
	if k := f.current; k != nil && k.to == to {
		f.mu.Unlock()
		return k
	}
	before := f.current
	f.current = nil
	if !f.closed && (f.lost != to || time.Since(f.lostAt) >= redialAfter) {
		f.current = newLeaderLink(f, to)
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

// Renew retires the link if it was made with a secret that is not the current secret.
func (f *Client) Renew() {
	first := f.o.Links.Secret()
	f.retireIf(func(k *leaderLink) bool { return k.secret != first }, false)
}

// LeaderIs retires the link to an earlier leader, which may never answer.
func (f *Client) LeaderIs(node string) {
	f.retireIf(func(k *leaderLink) bool { return k.to.node != node }, true)
}

// retireIf retires the current link if it is stale. deposed: because another node leads.
func (f *Client) retireIf(stale func(*leaderLink) bool, deposed bool) {
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
func (f *Client) linkEnded(k *leaderLink) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, k)
	if f.current == k {
		f.current = nil
		f.lost, f.lostAt = k.to, time.Now()
	}
}

// Close ends all links. It returns when the Done of every request has been called.
func (f *Client) Close() {
	f.mu.Lock()
	f.closed = true
	f.current = nil
	all := make([]*leaderLink, 0, len(f.all))
	for k := range f.all {
		all = append(all, k)
	}
	f.mu.Unlock()
	for _, k := range all {
		k.stop()
	}
	f.wait.Wait()
}
