package replication

import (
	"net"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/turns"
	"limitsrv/persist/commit"
	"limitsrv/replication/batch"
	"limitsrv/replication/forward"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// Exec submits a batch. done is called once, from any goroutine, with the decisions in
// place or an error that has a Code: UNCERTAIN if the batch may or may not have been
// applied, any other if it was not. Exec does not block.
func (n *Node) Exec(b *engine.Batch, done func(error)) {
	n.exec(batch.Request{Request: forward.Request{Batch: b, Done: done}})
}

// exec executes a batch, unless it has keys of slots that this group does not own. A look that this node can
// answer needs no entry; see Node.look. Any other batch goes through the batcher.
func (n *Node) exec(w batch.Request) {
	if err := n.foreign(w.Batch()); err != nil {
		w.Done(err)
		return
	}
	if w.Batch().Looks() && n.look(w) {
		return
	}
	n.submit(w)
}

// submit passes a batch to the batcher, or rejects it with the error of permit.
func (n *Node) submit(w batch.Request) {
	if err := n.permit(w.Batch()); err != nil {
		w.Done(err)
		return
	}
	n.batcher.Add(w)
}

// permit returns an error if this node leads and its disk is nearly full, or if readable returns
// an error for the batch.
func (n *Node) permit(b *engine.Batch) error {
	if n.short.Load() && n.Leads() {
		return errShort
	}
	return n.readable(fsm.LevelOf(b))
}

// readable returns an error if the log may not have an entry of this feature level: either some
// member can't read it, or this node has not caught up and so can't tell. It returns nil if this
// node is not a member, because then the leader decides.
func (n *Node) readable(level int) error {
	if level == 1 {
		return nil
	}
	s := n.stack.Load()
	switch {
	case s == nil || s.reaches(level):
		return nil
	case !s.FSM.IsCurrent():
		return errBehind
	}
	return errLevel
}

// Features returns the feature level that all members support, or 0 if that is KnownLevel, as far as
// this node has applied the log. See engine.Batch.Features. It never falls, and once 0 it stays 0.
func (n *Node) Features() uint8 {
	s := n.stack.Load()
	if s != nil && s.reaches(fsm.KnownLevel) {
		return 0
	}
	level := uint8(1)
	for s != nil && s.reaches(int(level)+1) {
		level++
	}
	return level
}

// Loggable returns an error if the log may not have the ops of a batch from index from on, see
// readable. It returns nil for looks that this node answers itself, because they need no log.
func (n *Node) Loggable(b *engine.Batch, from int) error {
	part := engine.Batch{Ops: b.Ops[from:], Calls: b.Calls}
	if part.Looks() && (b.Stale || n.Leads()) {
		return nil
	}
	return n.readable(fsm.LevelOf(&part))
}

// LoggableAt returns an error if a log of a feature level may not have the ops of a batch from index
// from on. It is for fronts, which answer no looks themselves.
func LoggableAt(level int, b *engine.Batch, from int) error {
	if fsm.LevelOf(&engine.Batch{Ops: b.Ops[from:], Calls: b.Calls}) > level {
		return errLevel
	}
	return nil
}

// HandleForwarded sets the function that reviews the batches with calls that other nodes forward to
// this node, before they are executed. It may lower the budgets of a batch and mark it Slow. It
// returns the function to call with the answer, in place of done. Or it calls done with an error and
// returns nil: the batch is not executed.
func (n *Node) HandleForwarded(review func(b *engine.Batch, done func(error)) func(error)) {
	n.review.Store(&review)
}

// execForwarded executes the batches that another node has forwarded together, each slow batch in a
// turn. If this node does not lead, they are not accepted, and that node tries again.
func (n *Node) execForwarded(all []forward.Request) {
	for _, r := range all {
		if review := n.review.Load(); review != nil && len(r.Batch.Calls) > 0 {
			if r.Done = (*review)(r.Batch, r.Done); r.Done == nil {
				continue
			}
		}
		if r.Batch.Slow {
			n.queueForwarded(r)
			continue
		}
		n.counts.forwarded.Add(int64(len(r.Batch.Ops)))
		n.exec(batch.Request{Request: r, Remote: true})
	}
	n.Commit()
}

// serveForwarded serves a link of another node that takes this node for the leader.
func (n *Node) serveForwarded(conn net.Conn) error {
	n.forwarding.Add(1)
	defer n.forwarding.Add(-1)
	return forward.Server{Do: n.execForwarded, Timeout: n.callTimeout(), Commands: n.o.Commands}.Serve(conn)
}

// queueForwarded has a batch of another node wait for its turn.
func (n *Node) queueForwarded(r forward.Request) {
	bytes, _ := r.Batch.Sizes()
	n.o.Turns.Add(turns.Turn{Bytes: bytes, Work: r.Batch.Work, Wait: n.turnWait(r.Batch), Done: r.Done,
		Do: func(done func(error)) {
			n.exec(batch.Request{Request: forward.Request{Batch: r.Batch, Done: done}, Remote: true})
			n.Commit()
		}})
}

// turnWait returns the longest wait of another node's batch for its turn. An earlier version does not
// wait for the end of a pause: it closes the link.
func (n *Node) turnWait(b *engine.Batch) time.Duration {
	switch {
	case n.Features() != 0:
		return turns.MaxWait
	case b.Runs > 0:
		return turns.WaitOf(b.Work, forward.MaxTurnWait)
	}
	return forward.MaxTurnWait
}

// Commit tells the node that its caller has no more batches to submit for now.
func (n *Node) Commit() {
	n.batcher.Kick()
	n.looks.kickIfAny()
}

// look answers a read-only batch, or queues it until it can be answered. It returns false, and does
// neither, unless this node leads or a client of this node accepts a stale state.
func (n *Node) look(w batch.Request) bool {
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
	case w.Remote || !w.Batch().Stale || lead.fsm.Diverged():
		return false
	}
	n.evaluate(lead, w.Batch(), lead.fsm.Now())
	w.Done(nil)
	return true
}

// lookUnderLease evaluates a read-only batch, and then reports whether this node still has a lease.
// If not, the decisions must not be used. Requires: this node leads.
func (n *Node) lookUnderLease(lead leadership, b *engine.Batch) bool {
	if lead.fsm.Level() < fsm.PromisesLevel {
		return false
	}
	n.evaluate(lead, b, n.clock.now())
	return n.underLease(lead)
}

// underLease reports whether this node has a lease. If the lease ends soon, it starts its renewal.
// Requires: this node leads.
func (n *Node) underLease(lead leadership) bool {
	if lead.fsm.Level() < fsm.PromisesLevel {
		return false
	}
	holds, renew := lead.stack.grants.Holds(lead.term)
	if renew {
		lead.stack.transport.Confirm(lead.term)
	}
	return holds && lead.stillLeads()
}

// stillLeads reports whether this node still leads, in the same term.
func (o *leadership) stillLeads() bool {
	r := o.stack.raft
	return isLeader(r) && r.CurrentTerm() == o.term
}

// answerLooks answers the waiting looks. It runs in a goroutine until the node stops.
func (n *Node) answerLooks() {
	for {
		var again <-chan time.Time
		if n.tryLooks() {
			again = time.After(batch.RetryAfter)
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

// tryLooks answers the looks that arrived before a majority last confirmed this node as the leader,
// and begins a round of heartbeats for the remaining looks. If this node does not lead, it passes
// all looks to the batcher. It reports whether looks remain.
func (n *Node) tryLooks() bool {
	all := n.looks.take()
	if len(all) == 0 {
		return false
	}
	lead := n.leadership()
	if !lead.leading {
		for _, w := range all {
			n.submit(w.Request)
		}
		n.batcher.Kick()
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

// evaluate decides a read-only batch at time now, from the state that this node has applied.
func (n *Node) evaluate(lead leadership, b *engine.Batch, now engine.Instant) {
	convertExpects(b, lead.term)
	b.Level = callLevel(lead.fsm)
	lead.fsm.Engine().Look(now, b)
	convertExpects(b, lead.term) // XOR with the same value restores the ops
	for i := range b.Ops {
		if b.Ops[i].Kind == engine.Watch {
			d := &b.Decisions[i]
			d.Remaining = termFingerprint(d.Remaining, lead.term)
		}
	}
}

// A batchNode makes a Node a batch.Node.
type batchNode struct{ *Node }

// Role returns the current role.
func (n batchNode) Role() batch.Role {
	lead := n.leadership()
	switch {
	case lead.leading:
		return batch.Role{Elected: true, Leader: termLog{n.proposer, lead}}
	case lead.elected:
		return batch.Role{Elected: true}
	}
	return batch.Role{Elsewhere: lead.leader}
}

// Forward sends requests to the leader; see forward.Client.Send.
func (n batchNode) Forward(leader storage.Server, all []forward.Request) int {
	return n.forwarder.Send(leader.Raft, leader.Node, all)
}

// WithoutQuorum answers a request that no leader can decide.
func (n batchNode) WithoutQuorum(r forward.Request) { n.withoutQuorum(r) }

// A termLog is the log of a node that leads, in one term.
type termLog struct {
	*proposer
	lead leadership
}

// Propose puts a group of the first requests into the log.
func (l termLog) Propose(all []batch.Request) (*commit.Group[batch.Request], error) {
	return l.propose(l.lead.fsm, l.lead.term, all)
}
