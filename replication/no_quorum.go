package replication

import (
	"slices"

	"limitsrv/engine"
	"limitsrv/replication/forward"
	"limitsrv/replication/link"
)

// policies are the node's policies for the NoQuorum values of a Needs op.
var policies = [...]NoQuorum{
	engine.NoQuorumError: NoQuorumError, engine.NoQuorumAllow: NoQuorumAllow, engine.NoQuorumDeny: NoQuorumDeny,
	engine.NoQuorumLocal: NoQuorumLocal,
}

// policyOf returns the policy for a group or single op: the policy of the domain for a request by
// rules, and otherwise the policy of the node.
func (n *Node) policyOf(ops []engine.Op) NoQuorum {
	if own := ops[0].NoQuorum; ops[0].Kind == engine.Needs && own != engine.NoQuorumDefault {
		return policies[own]
	}
	return n.o.NoQuorum
}

// isDecided reports whether policy decides a group or single op: any request by rules, and
// otherwise only ops that take tokens or leases.
func isDecided(ops []engine.Op, policy NoQuorum) bool {
	switch {
	case policy == NoQuorumError:
		return false
	case ops[0].Kind == engine.Needs:
		return true
	case policy == NoQuorumLocal:
		return allTakeTokens(ops)
	}
	return slices.ContainsFunc(ops, takesTokens)
}

// withoutQuorum answers a batch that no leader can decide, by Options.NoQuorum and the policies of
// its groups. Ops that no policy decides are Down. The batch fails if it is Atomic, if no policy
// decides an op, or if this node has no state for local decisions.
func (n *Node) withoutQuorum(r forward.Request) {
	some, local := false, false
	for ops := range askedTogether(r.Batch.Ops) {
		policy := n.policyOf(ops)
		decided := isDecided(ops, policy)
		some, local = some || decided, local || decided && policy == NoQuorumLocal
	}
	s := n.stack.Load()
	if r.Batch.Atomic || !some || local && s == nil {
		n.counts.refused.Add(1)
		r.Done(n.noQuorumError())
		return
	}
	r.Batch.Decisions = r.Batch.Decisions[:0]
	for range r.Batch.Ops {
		r.Batch.Decisions = append(r.Batch.Decisions, engine.Decision{Status: engine.Down})
	}
	if local {
		n.local.decide(s.FSM, r.Batch, n.bound(), func(ops []engine.Op) bool {
			policy := n.policyOf(ops)
			return policy == NoQuorumLocal && isDecided(ops, policy)
		})
	}
	ds := r.Batch.Decisions
	for ops := range askedTogether(r.Batch.Ops) {
		switch policy := n.policyOf(ops); {
		case !isDecided(ops, policy):
		case policy == NoQuorumLocal:
			n.counts.locally.Add(int64(len(ops)))
		case policy == NoQuorumAllow:
			n.counts.allowed.Add(int64(len(ops)))
			decide(ops, ds, allowed)
		default:
			n.counts.denied.Add(int64(len(ops)))
			decide(ops, ds, denied)
		}
		ds = ds[len(ops):]
	}
	n.o.undecided(r.Batch)
	r.Done(nil)
}

// decide sets the decisions on a group or single op; by decides each op that takes tokens. A
// Needs is allowed, and so is a Guard: penalty boxes count as open.
func decide(ops []engine.Op, ds []engine.Decision, by func(op *engine.Op, d *engine.Decision)) {
	rules := ops[0].Kind == engine.Needs
	for i := range ops {
		switch op := &ops[i]; {
		case rules && (i == 0 || op.Mode == engine.Guard):
			ds[i] = engine.Decision{NoQuorum: true, Params: op.Params, Allowed: 1}
		case rules || takesTokens(*op):
			by(op, &ds[i])
		}
	}
}

// noQuorumError returns the reason that requests are not decided. It is errNoQuorum only if
// this node has asked all other nodes since it lost the leader.
func (n *Node) noQuorumError() *link.Error {
	if why := n.leaderError(); why != nil {
		return why
	}
	return errLeaderSilent
}

// leaderError returns the reason that no leader is known, or nil.
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
	*d = engine.Decision{NoQuorum: true, Params: op.Params, Allowed: 1, Remaining: max(op.Params.Limit-op.N, 0)}
	if op.Mode&engine.Partial != 0 {
		d.Allowed = op.N
	}
}

// denied decides as a key without tokens and with unknown state: retry in a second.
func denied(op *engine.Op, d *engine.Decision) {
	*d = engine.Decision{NoQuorum: true, Params: op.Params, Wait: engine.Span{Millis: deniedRetryMillis},
		Reset: engine.Span{Millis: deniedRetryMillis}}
}

// deniedRetryMillis is in milliseconds.
const deniedRetryMillis = 1000
