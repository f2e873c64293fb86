package session

import (
	"slices"
	"sync/atomic"

	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// An Outcome is the answer to a request: a command that decides, or a request of another protocol.
// A request has one outcome, for any number of limits. A request that only looks has no outcome.
type Outcome uint8

// The outcomes.
const (
	WasAllowed Outcome = iota
	WasDenied
	WasShadowDenied    // allowed, and a limit with SHADOW, or a rule in shadow, would have denied it
	WasError           // answered with an error
	WasNoQuorumAllowed // allowed without a decision, as --no-quorum allow says
	WasRepeated        // by a request with an id that had acted before: nothing was taken again
	Outcomes
	looked = Outcomes // no outcome
)

// String returns the word of an outcome in metrics.
func (o Outcome) String() string {
	return [...]string{"allowed", "denied", "shadow_denied", "error", "no_quorum_allowed", "repeated"}[o]
}

// A Protocol is the protocol of a request that is not a Redis command.
type Protocol uint8

// The protocols.
const (
	GRPC Protocol = iota
	HTTP
	protocols
)

// outcomeCounts are the requests by outcome, since the start. They are never reset.
type outcomeCounts [Outcomes]atomic.Int64

// A RequestCount has the requests of one command, or of one protocol.
type RequestCount struct {
	Via string // the command in small letters, "grpc" or "http"
	N   [Outcomes]int64
}

// countRequests adds requests to the counts of a command.
func (c *commandCounts) countRequests(o Outcome, n int64) {
	counts := c.requests.Load()
	for counts == nil {
		c.requests.CompareAndSwap(nil, new(outcomeCounts))
		counts = c.requests.Load()
	}
	counts[o].Add(n)
}

// outcomeOf returns the outcome of a request without rules. The decisions are those that the reply
// has. An algorithm that holds permits tells a wait in both cases, so that its denials with SHADOW
// count as allowed.
func outcomeOf(ops []engine.Op, ds []engine.Decision) Outcome {
	o := looked
	for i := range ds {
		d, op := &ds[i], &ops[i]
		switch {
		case op.Kind != engine.Take && op.Kind != engine.Acquire:
		case op.N == 0 && d.Params.Limit != 0: // it looks; a limit of 0 decides
		case d.Allowed == 0:
			return WasDenied
		case d.NoQuorum:
			o = WasNoQuorumAllowed
		case o == WasNoQuorumAllowed:
		case op.Mode&engine.Shadow != 0 && d.Wait != engine.Span{} && !d.Params.Alg.Holds():
			o = WasShadowDenied
		case o == looked:
			o = WasAllowed
		}
	}
	return o
}

// outcomeBy returns the outcome of a request by rules.
func outcomeBy(c *checks.Check, a *checks.Answer, ds []engine.Decision) Outcome {
	switch {
	case c.Looks():
		return looked
	case !a.Allowed:
		return WasDenied
	case slices.ContainsFunc(ds, func(d engine.Decision) bool { return d.NoQuorum }):
		return WasNoQuorumAllowed
	case a.IsShadowDenied():
		return WasShadowDenied
	}
	return WasAllowed
}
