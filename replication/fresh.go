package replication

import (
	"context"
	"errors"
	"time"

	"limitsrv/engine"
	"limitsrv/replication/batch"
	"limitsrv/replication/forward"
	"limitsrv/replication/fsm"
	"limitsrv/replication/link"
)

// freshPause bounds the first wait for the entry that the leader reported. Then this node asks
// again. Each further wait is twice as long, up to maxFreshPause.
const (
	freshPause    = 10 * time.Millisecond
	maxFreshPause = 160 * time.Millisecond
)

// Fresh calls done exactly once, before it returns or from another goroutine. If the error is nil,
// Engine has every change that any node answered before the call of Fresh, and Now is no earlier
// than these answers. Exception: with a leader of an earlier version the error is nil at once. An
// error has a Code: there was no leader for as long as a request waits for it. Cost: a reading of a
// clock on a leader with a lease. Otherwise a call of the leader, or a round of heartbeats, for all
// waiting callers.
func (n *Node) Fresh(done func(error)) {
	if lead := n.leadership(); lead.leading && n.underLease(lead) {
		done(nil)
		return
	}
	n.fresh.Add(done)
}

// answerFresh answers the callers of Fresh. It runs in a goroutine until the node stops.
func (n *Node) answerFresh() {
	leader := n.links.NewCaller()
	defer leader.Close()
	n.fresh.Run(n.stopping.Done(), func() error { return n.catchUp(leader) })
}

// catchUp blocks until this node has applied every change that any node answered before the call.
// It waits for a leader as long as a request does.
func (n *Node) catchUp(leader *link.Caller) error {
	ctx, cancel := context.WithTimeout(n.stopping, n.o.maxHold)
	defer cancel()
	for pause := freshPause; ; pause = min(2*pause, maxFreshPause) {
		if n.tryCatchUp(ctx, leader, pause) {
			return nil
		}
		select {
		case <-ctx.Done():
			if n.stopping.Err() != nil {
				return errStopped
			}
			return n.noQuorumError()
		case <-time.After(batch.RetryAfter):
		}
	}
}

// tryCatchUp asks the leader once, waits for at most wait until this node has applied the leader's
// last entry, and reports whether it has.
func (n *Node) tryCatchUp(ctx context.Context, leader *link.Caller, wait time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, n.callTimeout())
	defer cancel()
	lead := n.leadership()
	switch {
	case lead.stack == nil || lead.fsm.Diverged():
		return false
	case lead.leading:
		_, err := n.answeredIndex(ctx, lead)
		return err == nil
	case lead.elected || lead.leader.Raft == "":
		return false
	}
	if m := lead.fsm.Member(lead.leader.Node); m.Level > 0 && m.Level < fsm.PromisesLevel {
		return true // an earlier version does not answer callFresh
	}
	var r freshReply
	if leader.Call(ctx, lead.leader.Raft, callFresh, struct{}{}, &r) != nil {
		return false
	}
	lead.fsm.NotBefore(r.Now)
	ctx, cancel = context.WithTimeout(ctx, wait)
	defer cancel()
	return lead.fsm.Await(ctx, r.Index)
}

// A freshReply is the answer to callFresh.
type freshReply struct {
	Index uint64         `json:"index"` // no answer that was given before the call depends on a later entry
	Now   engine.Instant `json:"now"`
}

// answerFreshCall answers callFresh, and tells the calling node which entry was last committed.
func (n *Node) answerFreshCall(ctx context.Context, from string) (any, error) {
	lead := n.leadership()
	index, err := n.answeredIndex(ctx, lead)
	if err != nil {
		return nil, err
	}
	lead.stack.transport.Tell(lead.term, from)
	return freshReply{Index: index, Now: n.clock.now()}, nil
}

// probe is the key that a leader looks up to confirm that it leads. The result is not used.
var probe = []byte{0}

// answeredIndex returns the index of the last entry that this node had applied at the call. No
// answer that was given before the call depends on a later entry. The error is errNotLeader unless
// this node confirms, after reading the index, that it leads.
func (n *Node) answeredIndex(ctx context.Context, lead leadership) (uint64, error) {
	if !lead.leading {
		return 0, errNotLeader
	}
	index := lead.fsm.Index()
	confirmed := make(chan error, 1)
	n.execForwarded([]forward.Request{{
		Batch: &engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: probe}}}, Done: func(err error) { confirmed <- err },
	}})
	select {
	case err := <-confirmed:
		if errors.Is(err, forward.ErrNotAccepted) || err == nil && !lead.stillLeads() {
			err = errNotLeader
		}
		return index, err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// trailPause is the time that an entry may be stored and not applied, before a node with clients
// that track keys asks its leader. Each further pause is twice as long, up to maxTrailPause.
const (
	trailPause    = 2 * time.Millisecond
	maxTrailPause = 100 * time.Millisecond
)

// entriesStored is called when this node has stored entries. It must not block.
func (n *Node) entriesStored() {
	if !n.o.Notices.Tracks() {
		return
	}
	select {
	case n.stored <- struct{}{}:
	default:
	}
}

// followChanges makes this node apply entries soon after they are committed while its clients track
// keys. Raft reports a commit with the next entry or heartbeat only. It runs in a goroutine until the
// node stops.
func (n *Node) followChanges() {
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-n.stored:
		}
		n.applyStored()
	}
}

// applyStored blocks until this node has applied the entries that it has stored, or there is no
// leader.
func (n *Node) applyStored() {
	s := n.stack.Load()
	if s == nil {
		return
	}
	stored, _ := s.Entries.LastStored()
	for pause := trailPause; s.FSM.Index() < stored && !n.Leads(); pause = min(2*pause, maxTrailPause) {
		select {
		case <-n.stopping.Done():
			return
		case <-time.After(pause):
		}
		if s.FSM.Index() >= stored {
			return
		}
		asked := make(chan error, 1)
		n.Fresh(func(err error) { asked <- err })
		if <-asked != nil {
			return
		}
	}
}
