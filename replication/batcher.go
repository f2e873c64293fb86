package replication

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
)

// A group gathers what is to be decided while an entry is on its way, and sends it
// on: into the log if this node leads the cluster, else to the node that does. One
// entry is in flight at a time, so that all that gathers meanwhile goes together; the
// machine may be at the one before.
//
//	exec -> waiting -> [leader: entry -> raft -> machine] -> answers -> done
//	                   [follower: forwarder] -> done
//	                   [nobody leads: held, then --no-quorum] -> done
//
// What is refused, certainly not carried out, waits again, at most holdFor in all, and
// no longer than that after the last leader was lost:
// a change of leader is no error for clients then.
type batcher struct {
	n       *Node
	builder builder // run alone
	lastProposal    *proposal // the last that the machine has begun with; run alone
	kicked  chan struct{}
	applied chan *proposal

	mu      sync.Mutex
	waiting []waitingRequest
	spare   []waitingRequest
	retryScheduled   bool // a retry is due
	// leaderless is since when, by mono, nobody is known to lead; 0: somebody is.
	leaderlessSince time.Duration
	closed     bool
	answered     []*proposal // answered, to be recycled
}

// A waiting request came from a client of this node, or from another node, which
// will look for the leader by itself.
type waitingRequest struct {
	request
	remote bool
	since   time.Duration // by mono: when it was first found that nobody decides it; 0: it was not
}

const (
	// retryAfter is when what was refused is tried again, unless something happens before.
	retryAfter = 5 * time.Millisecond
	// maxAnswers is how many flights may wait to be answered.
	maxUnanswered = 4
)

func newBatcher(n *Node) *batcher {
	return &batcher{n: n, kicked: make(chan struct{}, 1), applied: make(chan *proposal, maxUnanswered)}
}

// add has a batch decided after the next kick.
func (g *batcher) add(w waitingRequest) {
	g.mu.Lock()
	if !g.closed {
		g.waiting = append(g.waiting, w)
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	w.done(errStopped)
}

func (g *batcher) kick() {
	select {
	case g.kicked <- struct{}{}:
	default:
	}
}

// run sends on what waits, until the node stops.
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

// answerAll answers flights, so that neither the machine nor the next flight waits
// for that.
func (g *batcher) answerAll() {
	for f := range g.applied {
		f.answer()
		g.mu.Lock()
		g.answered = append(g.answered, f)
		g.mu.Unlock()
	}
}

// close refuses what waits, and all that comes.
func (g *batcher) close() {
	g.mu.Lock()
	g.closed = true
	all := g.waiting
	g.waiting = nil
	g.mu.Unlock()
	for _, w := range all {
		w.done(errStopped)
	}
}

// step sends something on, and says whether it is worth going on.
func (g *batcher) step() bool {
	lead := g.n.leadership()
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

// noteLeader takes note of whether anybody leads.
func (g *batcher) noteLeader(known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case known:
		g.leaderlessSince = 0
	case g.leaderlessSince == 0:
		g.leaderlessSince = max(g.n.mono(), 1)
	}
}

// take takes what waits, and makes room for more.
func (g *batcher) takeWaiting() []waitingRequest {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retryScheduled = false
	for _, f := range g.answered {
		g.builder.recycle(f)
	}
	g.answered = g.answered[:0]
	all := g.waiting
	g.waiting, g.spare = g.spare[:0], nil
	return all
}

// putBack has requests wait in front of what has come meanwhile; the memory of all
// of which they are the end is used again.
func (g *batcher) requeue(rest, all []waitingRequest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(rest) == 0 {
		clear(all)
		g.spare = all[:0]
		return
	}
	g.waiting = append(append(make([]waitingRequest, 0, len(rest)+len(g.waiting)), rest...), g.waiting...)
}

// decide puts requests into the log as one entry, and waits for what becomes of it.
func (g *batcher) propose(lead leadership, all []waitingRequest) bool {
	f := g.build(lead, all)
	if f == nil { // the first was answered without the log
		g.requeue(all[1:], all)
		return len(all) > 1
	}
	n := len(f.requests)
	f.requests = append([]waitingRequest(nil), f.requests...)
	err := g.n.propose(f)
	g.requeue(all[n:], all)
	switch {
	case err == nil:
		g.lastProposal = f
	case certainlyNotApplied(err):
		g.retry(f.requests)
		return false
	default:
		g.n.counts.uncertain.Add(int64(n))
		f.fail(errUncertain)
	}
	return true
}

// build makes the next flight of what waits, nil if the first request expected of a
// key what is not so any more, and has been told.
func (g *batcher) build(lead leadership, all []waitingRequest) *proposal {
	var (
		n       = g.n
		fsm = lead.stack.fsm
		stamp   = n.clock.now()
		e       = fsm.engine.Load()
	)
	bound, evict := n.maxMemory.Load(), n.evict.Load()
	excess := e.MemoryBytes() - bound
	full := bound > 0 && excess > 0
	var victims [][]byte
	if full && evict {
		victims, full = e.Victims(stamp, excess+evictAhead, nil), false
	}
	if first := all[0].batch; hasExpect(first) {
		if g.lastProposal != nil {
			<-g.lastProposal.applied
		}
		if !expectationsHold(e, stamp, lead.term, first) {
			first.Decisions = abortedDecisions(first)
			all[0].done(nil)
			return nil
		}
		return g.builder.buildExpecting(stamp, all, full)
	}
	until := 0
	for until < len(all) && !hasExpect(all[until].batch) {
		until++
	}
	return g.builder.build(stamp, all[:until], full, victims)
}

// evictAhead is how much more is dropped than must be, so that not every entry has
// to drop some.
const evictAhead = 64 << 10

// expects says whether a batch depends on what its keys were. Only an Atomic one may.
func hasExpect(b *engine.Batch) bool {
	return b.Atomic && len(b.Ops) > 0 && b.Ops[0].Kind == engine.Expect
}

// holds says whether what a batch expects is so. All that is in the log has been
// carried out.
func expectationsHold(e *engine.Engine, now engine.Instant, term uint64, b *engine.Batch) bool {
	for i := range b.Ops {
		op := &b.Ops[i]
		if op.Kind == engine.Expect && termFingerprint(e.Fingerprint(now, op.Key), term) != op.N {
			return false
		}
	}
	return true
}

// ofTerm is a fingerprint as clients have it. Those of LOG and LEASE keys differ from
// node to node, so what was seen under one leader does not hold under the next.
func termFingerprint(print int64, term uint64) int64 { return print ^ int64(term*0x9e3779b97f4a7c15) }

// expectOfTerm makes fingerprints of an engine of those that a batch expects as
// clients have them, and the other way round.
func convertExpects(b *engine.Batch, term uint64) {
	for i := range b.Ops {
		if op := &b.Ops[i]; op.Kind == engine.Expect {
			op.N = termFingerprint(op.N, term)
		}
	}
}

// abort are the decisions of a batch whose Expects do not hold.
func abortedDecisions(b *engine.Batch) []engine.Decision {
	ds := b.Decisions[:0]
	for range b.Ops {
		ds = append(ds, engine.Decision{Status: engine.Aborted})
	}
	return ds
}

// notApplied says whether raft's error means that an entry is in no log.
func certainlyNotApplied(err error) bool {
	return errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) ||
		errors.Is(err, raft.ErrEnqueueTimeout) || errors.Is(err, errNotAccepted)
}

// forward sends requests to the node that leads. Those of others are refused: they
// will find it by themselves. What is too much for now waits again: there is a leader, so
// that is no time without one.
func (g *batcher) forward(leader server, all []waitingRequest) {
	own := make([]request, 0, len(all))
	mine := all[:0]
	for _, w := range all {
		if w.remote {
			w.done(errNotAccepted)
			continue
		}
		mine = append(mine, w)
		own = append(own, request{w.batch, func(err error) { g.forwarded(w, err) }})
	}
	if len(own) > 0 {
		mine = mine[g.n.forwarder.send(leader.Raft, leader.Node, own):]
		for i := range mine {
			mine[i].since = 0
		}
		g.retry(mine)
	}
	g.requeue(nil, all)
}

// forwarded is told what the leader answered, or that it did not.
func (g *batcher) forwarded(w waitingRequest, err error) {
	switch {
	case errors.Is(err, errNotAccepted):
		g.retry([]waitingRequest{w})
		return
	case errors.Is(err, errUncertain):
		g.n.counts.uncertain.Add(1)
	case err == nil:
		g.n.counts.forwarded.Add(1)
	}
	w.done(err)
}

// hold has requests wait for a leader, but for those that have waited long enough.
func (g *batcher) hold(all []waitingRequest) {
	own := append([]waitingRequest(nil), all...)
	g.requeue(nil, all)
	g.retry(own)
}

// retry has requests that nobody decided wait again, or answers them.
func (g *batcher) retry(all []waitingRequest) {
	now := g.n.mono()
	var over []waitingRequest
	g.mu.Lock()
	for _, w := range all {
		if w.since == 0 {
			w.since = max(now, 1)
		}
		leaderless := g.leaderlessSince > 0 && (w.remote || now-g.leaderlessSince >= g.n.maxHold)
		if g.closed || leaderless || now-w.since >= g.n.maxHold {
			over = append(over, w)
			continue
		}
		g.waiting = append(g.waiting, w)
	}
	if len(g.waiting) > 0 && !g.retryScheduled {
		g.retryScheduled = true
		time.AfterFunc(retryAfter, g.kick)
	}
	g.mu.Unlock()
	for _, w := range over {
		if w.remote {
			w.done(errNotAccepted)
			continue
		}
		g.n.withoutQuorum(w.request)
	}
}
