package front

import (
	"errors"

	"limitsrv/engine"
	"limitsrv/replication/batch"
	"limitsrv/replication/forward"
	"limitsrv/replication/link"
	"limitsrv/replication/storage"
)

// Errors returned to clients.
var (
	errNoLeader = link.NewError("CLUSTERDOWN", "no leader of the cluster is known to this front")
	errSilent   = link.NewError("CLUSTERDOWN", "the leader of the cluster does not answer")
	errStopped  = link.NewError("CLUSTERDOWN", "this front is shutting down")
)

// Exec submits a batch to the leader. done is called once, from any goroutine, as
// replication.Node.Exec calls it. Exec does not block.
func (n *Front) Exec(b *engine.Batch, done func(error)) {
	n.batcher.Add(batch.Request{Request: forward.Request{Batch: b, Done: done}})
}

// Commit tells the front that its caller has no more batches to submit for now.
func (n *Front) Commit() { n.batcher.Kick() }

// A decider makes a Front a batch.Node that never leads.
type decider Front

// Role returns the leader, if it is known.
func (d *decider) Role() batch.Role { return batch.Role{Elsewhere: (*Front)(d).Leader()} }

// Forward sends requests to the leader. If one is not accepted, the leader is looked for.
func (d *decider) Forward(leader storage.Server, all []forward.Request) int {
	n := (*Front)(d)
	for i := range all {
		done := all[i].Done
		all[i].Done = func(err error) {
			if errors.Is(err, forward.ErrNotAccepted) {
				n.suspect()
			}
			done(err)
		}
	}
	return n.forwarder.Send(leader.Raft, leader.Node, all)
}

// WithoutQuorum answers a request that no leader can decide.
func (d *decider) WithoutQuorum(r forward.Request) {
	n := (*Front)(d)
	if n.undecided.Answer(r.Batch, nil) {
		r.Done(nil)
		return
	}
	r.Done(n.noLeaderError())
}

// noLeaderError returns the reason that requests are not decided.
func (n *Front) noLeaderError() error {
	if n.Leader().Raft == "" {
		return errNoLeader
	}
	return errSilent
}
