package replication

import (
	"slices"

	"limitsrv/engine"
	"limitsrv/replication/forward"
	"limitsrv/replication/link"
)

// withoutQuorum answers a batch that no leader can decide, according to Options.NoQuorum.
func (n *Node) withoutQuorum(r forward.Request) {
	var decide func(op *engine.Op, d *engine.Decision)
	policy := n.o.NoQuorum
	switch {
	case policy == NoQuorumError || r.Batch.Atomic || !slices.ContainsFunc(r.Batch.Ops, takesTokens):
		n.counts.refused.Add(1)
		r.Done(n.noQuorumError())
		return
	case policy == NoQuorumLocal:
		n.decideLocally(r)
		return
	case policy == NoQuorumAllow:
		n.counts.allowed.Add(int64(len(r.Batch.Ops)))
		decide = allowed
	default:
		n.counts.denied.Add(int64(len(r.Batch.Ops)))
		decide = denied
	}
	r.Batch.Decisions = r.Batch.Decisions[:0]
	for i := range r.Batch.Ops {
		d := engine.Decision{Status: engine.Down}
		if op := &r.Batch.Ops[i]; takesTokens(*op) {
			decide(op, &d)
		}
		r.Batch.Decisions = append(r.Batch.Decisions, d)
	}
	n.o.undecided(r.Batch)
	r.Done(nil)
}

// noQuorumError returns the reason for which requests are not decided. It is errNoQuorum
// only if this node has asked all others since it lost the leader.
func (n *Node) noQuorumError() *link.Error {
	if why := n.leaderError(); why != nil {
		return why
	}
	return errLeaderSilent
}

// leaderError returns the reason for which no leader is known, or nil.
func (n *Node) leaderError() *link.Error {
	lead := n.leadership()
	switch {
	case lead.stack == nil:
		return errNoMember
	case lead.leading || !lead.elected && lead.leader.Raft != "":
		return nil
	case n.noMajority.Load():
		return errNoQuorum
	}
	return errNoLeader
}

// allowed decides as a new key would after n tokens were taken.
func allowed(op *engine.Op, d *engine.Decision) {
	*d = engine.Decision{Params: op.Params, Allowed: 1, Remaining: max(op.Params.Limit-op.N, 0)}
	if op.Mode&engine.Partial != 0 {
		d.Allowed = op.N
	}
}

// denied decides as a key without tokens and with unknown state: retry in a second.
func denied(op *engine.Op, d *engine.Decision) {
	*d = engine.Decision{Params: op.Params, Wait: engine.Span{Millis: deniedRetryMillis}, Reset: engine.Span{Millis: deniedRetryMillis}}
}

// deniedRetryMillis is in milliseconds.
const deniedRetryMillis = 1000

// decideLocally decides the ops that take tokens against this node's last state.
func (n *Node) decideLocally(r forward.Request) {
	s := n.stack.Load()
	if s == nil {
		n.counts.refused.Add(1)
		r.Done(n.noQuorumError())
		return
	}
	n.local.decide(s.FSM, r.Batch, n.bound())
	n.o.undecided(r.Batch)
	n.counts.locally.Add(int64(len(r.Batch.Ops)))
	r.Done(nil)
}
