package replication

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/persist/commit"
	"limitsrv/replication/forward"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// A batcher collects requests while an entry is in flight, and then sends them on: into
// the log if this node leads the cluster, else to the leader. One entry is in flight at a
// time, so that all requests that arrive meanwhile share the next; the FSM may still be
// applying the previous one.
//
//	Exec -> waiting -> [leader: proposal -> raft -> fsm] -> applied -> done
//	                   [follower: forwarder] -> done
//	                   [no leader: held, then --no-quorum] -> done
//
// Requests that were certainly not applied are retried, for at most maxHold in all, and no
// longer than maxHold after the last leader was lost: clients see no error when the leader
// changes.
type batcher struct {
	node         cluster
	mono         func() time.Duration
	maxHold      time.Duration                  // for a leader
	builder      commit.Builder[waitingRequest] // run goroutine only
	entry        persist.Entry                  // of the proposal that is being built; run goroutine only
	lastProposal *proposal                      // the last proposal that the FSM began to apply; run goroutine only
	stated       uint64                         // the last entry with effects that an entry of this node states; run goroutine only
	kicked       chan struct{}
	applied      chan *proposal

	mu             sync.Mutex
	waiting        commit.Queue[waitingRequest]
	retryScheduled bool // a retry timer is running
	// leaderlessSince is the time, by mono, since which no leader is known; 0: one is.
	leaderlessSince time.Duration
	closed          bool
	answered        []*proposal // to be recycled

	counts batcherCounts
}

// batcherCounts are totals since the start.
type batcherCounts struct {
	uncertain atomic.Int64 // requests answered UNCERTAIN
	forwarded atomic.Int64 // requests answered by the leader
}

// A cluster is a node's side of its batcher. Concurrency: any goroutine.
type cluster interface {
	role() role
	// stamp returns the time of the next entry. Requires: this node leads.
	stamp() engine.Instant
	bound() engine.Bound
	// propose puts a proposal into the log and returns when the FSM begins to apply it, or
	// with an error if it failed.
	propose(*proposal) error
	// forward sends the first requests to the leader, and returns their number.
	forward(leader storage.Server, all []forward.Request) int
	// withoutQuorum answers a request that no leader can decide.
	withoutQuorum(forward.Request)
}

// A role is a node's role in its cluster at one moment.
type role struct {
	fsm     *fsm.FSM // nil: not a member
	term    uint64
	elected bool           // raft elected this node, but it may not have applied all earlier entries yet
	leading bool           // this node leads and decides
	leader  storage.Server // empty: unknown
}

// A proposal is a group of requests that goes through the log as one entry. Either the FSM
// claims it or propose abandons it; that side answers the requests.
type proposal struct {
	*commit.Group[waitingRequest]
	entry *fsm.Proposal
}

// A waitingRequest came from a client of this node, or from another node, which retries by
// itself.
type waitingRequest struct {
	forward.Request
	remote bool
	since  time.Duration // by mono: the first failed attempt; 0: none failed yet
}

// Batch and Answer implement commit.Request.
func (w waitingRequest) Batch() *engine.Batch { return w.Request.Batch }
func (w waitingRequest) Answer(err error)     { w.Done(err) }

const (
	// retryAfter is the delay before a retry, unless a kick comes earlier.
	retryAfter = 5 * time.Millisecond
	// maxUnanswered bounds the proposals that were applied and not answered yet.
	maxUnanswered = 4
	// maxEntryBytes is the length of an entry at which another is begun. A single batch
	// may be longer.
	maxEntryBytes = 64 << 10
)

func newBatcher(node cluster, mono func() time.Duration, maxHold time.Duration) *batcher {
	g := &batcher{node: node, mono: mono, maxHold: maxHold, kicked: make(chan struct{}, 1), applied: make(chan *proposal, maxUnanswered)}
	g.builder.MaxBytes = maxEntryBytes
	return g
}

// add queues a request for the next kick. After close it is refused.
func (g *batcher) add(w waitingRequest) {
	g.mu.Lock()
	if !g.closed {
		g.waiting.Add(w)
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	w.Done(errStopped)
}

func (g *batcher) kick() {
	select {
	case g.kicked <- struct{}{}:
	default:
	}
}

// run sends waiting requests on until ctx ends.
func (g *batcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			g.close()
			return
		case <-g.kicked:
		}
		for g.step() {
		}
	}
}

// answerAll answers applied proposals, so that neither the FSM nor the next proposal waits
// for the callbacks.
func (g *batcher) answerAll() {
	for f := range g.applied {
		f.Answer(nil)
		g.mu.Lock()
		g.answered = append(g.answered, f)
		g.mu.Unlock()
	}
}

// close refuses the waiting requests and all later ones.
func (g *batcher) close() {
	g.mu.Lock()
	g.closed = true
	all := g.waiting.Take()
	g.mu.Unlock()
	for _, w := range all {
		w.Done(errStopped)
	}
}

// step sends waiting requests on, and reports whether to call it again at once.
func (g *batcher) step() bool {
	lead := g.node.role()
	g.noteLeader(lead.elected || lead.leader.Raft != "")
	all := g.takeWaiting()
	if len(all) == 0 {
		return false
	}
	switch {
	case lead.leading:
		return g.propose(lead, all)
	case lead.elected:
		g.hold(all)
		return false
	case lead.leader.Raft != "":
		g.forward(lead.leader, all)
		return false
	}
	g.hold(all)
	return false
}

// noteLeader records whether a leader is known.
func (g *batcher) noteLeader(known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case known:
		g.leaderlessSince = 0
	case g.leaderlessSince == 0:
		g.leaderlessSince = max(g.mono(), 1)
	}
}

// takeWaiting returns the waiting requests and recycles answered proposals.
func (g *batcher) takeWaiting() []waitingRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retryScheduled = false
	for _, f := range g.answered {
		g.builder.Recycle(f.Group)
	}
	g.answered = g.answered[:0]
	return g.waiting.Take()
}

// requeue puts rest, a tail of all, in front of the requests that arrived meanwhile.
func (g *batcher) requeue(rest, all []waitingRequest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting.Return(rest, all)
}

// propose puts requests into the log as one entry, and waits until the FSM begins to apply
// it or it failed.
func (g *batcher) propose(lead role, all []waitingRequest) bool {
	f := g.build(lead, all)
	n := f.Len()
	var err error
	if f.Logged() {
		err = g.node.propose(f)
	} else {
		f.Answer(nil)
	}
	g.requeue(all[n:], all)
	switch {
	case !f.Logged():
		return len(all) > n
	case err == nil:
		g.lastProposal = f
	case certainlyNotApplied(err):
		g.retry(f.Requests())
		return false
	default:
		g.counts.uncertain.Add(int64(n))
		f.Answer(errUncertain)
	}
	return true
}

// build makes the next proposal from the waiting requests.
func (g *batcher) build(lead role, all []waitingRequest) *proposal {
	stamp, e := g.node.stamp(), lead.fsm.Engine()
	if g.lastProposal != nil && commit.Expects(all[0].Batch()) {
		<-g.lastProposal.entry.Applied()
	}
	g.builder.Fingerprint = func(stamp engine.Instant, db uint8, key []byte) int64 {
		return termFingerprint(e.Fingerprint(stamp, db, key), lead.term)
	}
	g.builder.Encode = func(stamp engine.Instant, b *engine.Batch) int {
		e.SetMoments(stamp, b)
		g.entry.Append(stamp, b)
		return g.entry.Len()
	}
	g.entry.Reset()
	effects := lead.fsm.Effects()
	if effects.Index > g.stated {
		g.entry.State(effects)
	}
	g.builder.Level = callLevel(lead.fsm)
	group := g.builder.Build(stamp, all, g.node.bound().Room(e, lead.fsm.Stamp(), stamp, all[0].Batch()))
	f := &proposal{Group: group}
	if f.Logged() {
		g.stated = max(g.stated, effects.Index)
	}
	f.entry = fsm.NewProposal(stamp, group, bytes.Clone(g.entry.Bytes()), func() { g.applied <- f })
	return f
}

// callLevel returns the newest level of call semantics that all members support, see
// engine.Batch.Level; 0 if there are no calls.
func callLevel(f *fsm.FSM) uint8 {
	if c := f.Engine().Commands(); c != nil {
		return min(c.Level(), fsm.CallLevel(f.Level()))
	}
	return 0
}

// termFingerprint converts a fingerprint of the engine to the one shown to clients, and
// back. Fingerprints of LOG and LEASE keys differ between nodes, so one that was read
// under one leader must not match under the next.
func termFingerprint(print int64, term uint64) int64 { return print ^ int64(term*0x9e3779b97f4a7c15) }

// convertExpects converts the fingerprints in a batch's Expects between the clients' form
// and the engine's.
func convertExpects(b *engine.Batch, term uint64) {
	for i := range b.Ops {
		if op := &b.Ops[i]; op.Kind == engine.Expect {
			*op = engine.ExpectOf(op.DB, op.Key, termFingerprint(op.Expected(), term))
		}
	}
}

// certainlyNotApplied reports whether raft's error means that the entry is in no log.
func certainlyNotApplied(err error) bool {
	return errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) ||
		errors.Is(err, raft.ErrEnqueueTimeout) || errors.Is(err, forward.ErrNotAccepted)
}

// forward sends requests to the leader. Requests forwarded to us are refused; their node
// retries. Requests beyond the forwarder's bound are requeued without counting against
// maxHold, because a leader exists.
func (g *batcher) forward(leader storage.Server, all []waitingRequest) {
	own := make([]forward.Request, 0, len(all))
	mine := all[:0]
	for _, w := range all {
		if w.remote {
			w.Done(forward.ErrNotAccepted)
			continue
		}
		mine = append(mine, w)
		own = append(own, forward.Request{Batch: w.Request.Batch, Done: func(err error) { g.forwarded(w, err) }})
	}
	if len(own) > 0 {
		mine = mine[g.node.forward(leader, own):]
		for i := range mine {
			mine[i].since = 0
		}
		g.retry(mine)
	}
	g.requeue(nil, all)
}

// forwarded is called with the leader's answer to a forwarded request, or with the error
// of the link.
func (g *batcher) forwarded(w waitingRequest, err error) {
	switch {
	case errors.Is(err, forward.ErrNotAccepted):
		g.retry([]waitingRequest{w})
		return
	case errors.Is(err, errUncertain):
		g.counts.uncertain.Add(1)
	case err == nil:
		g.counts.forwarded.Add(1)
	}
	w.Done(err)
}

// hold requeues requests until there is a leader, and answers those that waited too long.
func (g *batcher) hold(all []waitingRequest) {
	own := append([]waitingRequest(nil), all...)
	g.requeue(nil, all)
	g.retry(own)
}

// retry requeues requests that were not applied, or answers those that waited too long.
func (g *batcher) retry(all []waitingRequest) {
	now := g.mono()
	var over []waitingRequest
	g.mu.Lock()
	for _, w := range all {
		if w.since == 0 {
			w.since = max(now, 1)
		}
		leaderless := g.leaderlessSince > 0 && (w.remote || now-g.leaderlessSince >= g.maxHold)
		if g.closed || leaderless || now-w.since >= g.maxHold {
			over = append(over, w)
			continue
		}
		g.waiting.Add(w)
	}
	if g.waiting.Len() > 0 && !g.retryScheduled {
		g.retryScheduled = true
		time.AfterFunc(retryAfter, g.kick)
	}
	g.mu.Unlock()
	for _, w := range over {
		if w.remote {
			w.Done(forward.ErrNotAccepted)
			continue
		}
		g.node.withoutQuorum(w.Request)
	}
}
