package replication

import (
	"bytes"
	"errors"
	"sync"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
	"limitsrv/persist/commit"
	"limitsrv/replication/batch"
	"limitsrv/replication/forward"
	"limitsrv/replication/fsm"
)

// A proposer puts groups of requests into the log, one entry at a time, while this node leads. Only
// the goroutine of the Batcher uses it, except for applied and answered.
type proposer struct {
	node    proposing
	builder commit.Builder[batch.Request]
	entry   persist.Entry  // of the proposal that is being built
	last    *proposal      // the last proposal that the FSM began to apply
	stated  uint64         // the last entry with effects that an entry of this node states
	applied chan *proposal // to be answered

	mu       sync.Mutex
	answered []*proposal // to be recycled
}

// A proposing is a node's side of its proposer.
type proposing interface {
	// stamp returns the time of the next entry. Requires: this node leads.
	stamp() engine.Instant
	bound() engine.Bound
	// propose puts a proposal into the log and returns when the FSM begins to apply it, or
	// with raft's error if it failed.
	propose(*proposal) error
}

// A proposal is a group of requests that goes through the log as a single entry. Either the FSM
// claims it or propose abandons it; that side answers the requests.
type proposal struct {
	*commit.Group[batch.Request]
	entry *fsm.Proposal
}

const (
	// maxUnanswered bounds the proposals that were applied and not answered yet.
	maxUnanswered = 4
	// An entry of maxEntryBytes is complete, and the next entry is started. A single batch
	// may be longer.
	maxEntryBytes = 64 << 10
)

func newProposer(n proposing) *proposer {
	p := &proposer{node: n, applied: make(chan *proposal, maxUnanswered)}
	p.builder.MaxBytes = maxEntryBytes
	return p
}

// answerAll answers applied proposals, so that neither the FSM nor the next proposal waits
// for the callbacks.
func (p *proposer) answerAll() {
	for f := range p.applied {
		f.Answer(nil)
		p.mu.Lock()
		p.answered = append(p.answered, f)
		p.mu.Unlock()
	}
}

// recycle reclaims the memory of answered proposals.
func (p *proposer) recycle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.answered {
		p.builder.Recycle(f.Group)
	}
	p.answered = p.answered[:0]
}

// propose is batch.Leader.Propose of a node that leads in a term.
func (p *proposer) propose(f *fsm.FSM, term uint64, all []batch.Request) (*commit.Group[batch.Request], error) {
	p.recycle()
	next := p.build(f, term, all)
	if !next.Logged() {
		next.Answer(nil)
		return next.Group, nil
	}
	err := p.node.propose(next)
	switch {
	case err == nil:
		p.last = next
	case certainlyNotApplied(err):
		err = forward.ErrNotAccepted
	}
	return next.Group, err
}

// build makes the next proposal from the first requests.
func (p *proposer) build(f *fsm.FSM, term uint64, all []batch.Request) *proposal {
	stamp, e := p.node.stamp(), f.Engine()
	if p.last != nil && commit.Expects(all[0].Batch()) {
		<-p.last.entry.Applied()
	}
	p.builder.Fingerprint = func(stamp engine.Instant, db uint8, key []byte) int64 {
		return termFingerprint(e.Fingerprint(stamp, db, key), term)
	}
	p.builder.Encode = func(stamp engine.Instant, b *engine.Batch) int {
		e.SetMoments(stamp, b)
		p.entry.Append(stamp, b)
		return p.entry.Len()
	}
	p.entry.Reset()
	effects := f.Effects()
	if effects.Index > p.stated {
		p.entry.State(effects)
	}
	p.builder.Level = callLevel(f)
	group := p.builder.Build(stamp, all, p.node.bound().Room(e, f.Stamp(), stamp, all[0].Batch()))
	next := &proposal{Group: group}
	if next.Logged() {
		p.stated = max(p.stated, effects.Index)
	}
	next.entry = fsm.NewProposal(stamp, group, bytes.Clone(p.entry.Bytes()), func() { p.applied <- next })
	return next
}

// callLevel returns the newest level of call semantics that all members support, see
// engine.Batch.Level; 0 if there are no calls.
func callLevel(f *fsm.FSM) uint8 {
	if c := f.Engine().Commands(); c != nil {
		return min(c.Level(), fsm.CallLevel(f.Level()))
	}
	return 0
}

// termFingerprint converts a fingerprint of the engine to the fingerprint shown to clients,
// and back. Fingerprints of LOG and LEASE keys differ between nodes, so a fingerprint that
// was read under a leader must not match under the next leader.
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
