package replication

import (
	"limitsrv/engine"
	"limitsrv/replication/forward"
	"limitsrv/replication/fsm"
)

// Exec submits a batch. done is called once, from any goroutine, with the decisions in
// place or an error that has a Code: UNCERTAIN if the batch may or may not have been
// applied, any other if it was not. Exec does not block.
func (n *Node) Exec(batch *engine.Batch, done func(error)) {
	n.exec(waitingRequest{Request: forward.Request{Batch: batch, Done: done}})
}

// exec executes a batch: a look at once or by a round of messages, any other through the batcher.
func (n *Node) exec(w waitingRequest) {
	if w.Batch().Looks() && n.look(w) {
		return
	}
	n.submit(w)
}

// submit passes a batch to the batcher.
func (n *Node) submit(w waitingRequest) {
	if err := n.permit(w.Batch()); err != nil {
		w.Done(err)
		return
	}
	n.batcher.add(w)
}

// permit returns an error if this node leads and its disk is nearly full, or if the log may not have an entry of a batch because a member can't
// read it, or if this node does not know that yet. If it is no member, the leader decides.
func (n *Node) permit(batch *engine.Batch) error {
	if n.short.Load() && n.Leads() {
		return errShort
	}
	level := fsm.LevelOf(batch)
	if level == 1 {
		return nil
	}
	s := n.stack.Load()
	switch {
	case s == nil || level <= s.FSM.Level() || int64(level) <= s.level.Load():
		return nil
	case !s.FSM.IsCurrent():
		return errBehind
	}
	return errLevel
}

// HandleForwarded sets the function that executes the batches with calls that other nodes forward
// to this one: it must pass them to ExecForwarded, now or later, or call done with an error. Until
// then ExecForwarded gets them at once.
func (n *Node) HandleForwarded(exec func(batch *engine.Batch, done func(error))) {
	n.forwarded.Store(&exec)
}

// execForOthers executes a batch forwarded by another node.
func (n *Node) execForOthers(batch *engine.Batch, done func(error)) {
	if exec := n.forwarded.Load(); exec != nil && len(batch.Calls) > 0 {
		(*exec)(batch, done)
		return
	}
	n.ExecForwarded(batch, done)
}

// ExecForwarded is Exec for batches forwarded by another node. If this node does not lead, they
// are not accepted, and that node tries again.
func (n *Node) ExecForwarded(batch *engine.Batch, done func(error)) {
	n.exec(waitingRequest{Request: forward.Request{Batch: batch, Done: done}, remote: true})
}

// Commit tells the node that its caller has no more batches to submit for now.
func (n *Node) Commit() {
	n.batcher.kick()
	n.looks.kickIfAny()
}
