// Package undecided answers requests that no leader can decide, by the policy of the node and by
// the policies of the domains of rules. It imports nothing but the engine's ops and decisions.
package undecided

import (
	"iter"
	"slices"
	"sync/atomic"

	"limitsrv/engine"
)

// A Policy is a value of --no-quorum.
type Policy string

const (
	// Error refuses all requests with CLUSTERDOWN.
	Error Policy = "error"
	// Allow allows requests for tokens, and refuses the rest.
	Allow Policy = "allow"
	// Deny denies requests for tokens, and refuses the rest.
	Deny Policy = "deny"
	// Local decides requests for tokens from the node's last state and its own decisions
	// since, and refuses the rest.
	Local Policy = "local"
)

// Policies are the policies for the NoQuorum values of a Needs op.
var Policies = [...]Policy{
	engine.NoQuorumError: Error, engine.NoQuorumAllow: Allow, engine.NoQuorumDeny: Deny, engine.NoQuorumLocal: Local,
}

// Answers answer batches, and count them. Concurrency: any goroutine.
type Answers struct {
	Policy Policy // of the node
	// Allowed, Denied and Locally count ops, and Refused batches.
	Allowed, Denied, Locally, Refused atomic.Int64
}

// A Decide decides the chosen groups and single ops of a batch from the state of the node, and
// leaves all other decisions as they are.
type Decide func(chosen func(ops []engine.Op) bool)

// Answer answers a batch by the policies. Ops that no policy decides are Down. It refuses the batch,
// and returns false, if the batch is Atomic, if no policy decides an op, or if local is nil and an
// op must be decided locally.
func (a *Answers) Answer(b *engine.Batch, local Decide) bool {
	some, locally := false, false
	for ops := range Together(b.Ops) {
		policy := a.of(ops)
		decided := IsDecided(ops, policy)
		some, locally = some || decided, locally || decided && policy == Local
	}
	if b.Atomic || !some || locally && local == nil {
		a.Refused.Add(1)
		return false
	}
	b.Decisions = b.Decisions[:0]
	for range b.Ops {
		b.Decisions = append(b.Decisions, engine.Decision{Status: engine.Down})
	}
	if locally {
		local(func(ops []engine.Op) bool {
			policy := a.of(ops)
			return policy == Local && IsDecided(ops, policy)
		})
	}
	ds := b.Decisions
	for ops := range Together(b.Ops) {
		switch policy := a.of(ops); {
		case !IsDecided(ops, policy):
		case policy == Local:
			a.Locally.Add(int64(len(ops)))
		case policy == Allow:
			a.Allowed.Add(int64(len(ops)))
			decide(ops, ds, allowed)
		default:
			a.Denied.Add(int64(len(ops)))
			decide(ops, ds, denied)
		}
		ds = ds[len(ops):]
	}
	return true
}

// Answered returns the number of ops answered by a policy.
func (a *Answers) Answered() int64 { return a.Allowed.Load() + a.Denied.Load() + a.Locally.Load() }

// of returns the policy for a group or single op: the policy of the domain for a request by rules,
// and otherwise the policy of the node.
func (a *Answers) of(ops []engine.Op) Policy {
	if own := ops[0].NoQuorum; ops[0].Kind == engine.Needs && own != engine.NoQuorumDefault {
		return Policies[own]
	}
	return a.Policy
}

// IsDecided reports whether policy decides a group or single op: any request by rules, and
// otherwise only ops that take tokens or leases.
func IsDecided(ops []engine.Op, policy Policy) bool {
	switch {
	case policy == Error:
		return false
	case ops[0].Kind == engine.Needs:
		return true
	case policy == Local:
		return !slices.ContainsFunc(ops, func(op engine.Op) bool { return !TakesTokens(op) })
	}
	return slices.ContainsFunc(ops, TakesTokens)
}

// TakesTokens reports whether an op requests tokens or leases.
func TakesTokens(op engine.Op) bool {
	return (op.Kind == engine.Take || op.Kind == engine.Acquire) && op.N > 0
}

// Together yields each group of ops, and each op without a group.
func Together(ops []engine.Op) iter.Seq[[]engine.Op] {
	return func(yield func([]engine.Op) bool) {
		for len(ops) > 0 {
			n := ops[0].Members()
			if !yield(ops[:n]) {
				return
			}
			ops = ops[n:]
		}
	}
}

// decide sets the decisions on a group or single op; by decides each op that takes tokens. A
// Needs is allowed, and so is a Guard: penalty boxes count as open.
func decide(ops []engine.Op, ds []engine.Decision, by func(op *engine.Op, d *engine.Decision)) {
	rules := ops[0].Kind == engine.Needs
	for i := range ops {
		switch op := &ops[i]; {
		case rules && (i == 0 || op.Mode == engine.Guard):
			ds[i] = engine.Decision{NoQuorum: true, Params: op.Params, Allowed: 1}
		case rules || TakesTokens(*op):
			by(op, &ds[i])
		}
	}
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
	*d = engine.Decision{NoQuorum: true, Params: op.Params, Wait: engine.Span{Millis: DeniedRetryMillis},
		Reset: engine.Span{Millis: DeniedRetryMillis}}
}

// DeniedRetryMillis is in milliseconds.
const DeniedRetryMillis = 1000
