package session

import (
	"slices"
	"strings"
	"sync/atomic"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules/checks"
	"limitsrv/engine"
)

// An Outcome is the answer to a request: a command that decides, or a request of another protocol.
// A request has one outcome, for any number of limits. Requests that only look have none.
type Outcome uint8

// The outcomes.
const (
	WasAllowed Outcome = iota
	WasDenied
	WasShadowDenied    // allowed, and a limit with SHADOW, or a rule in shadow, would have denied it
	WasError           // answered with an error
	WasNoQuorumAllowed // allowed without a decision, as --no-quorum allow says
	Outcomes
	looked = Outcomes // no outcome
)

// String returns the word of an outcome in metrics.
func (o Outcome) String() string {
	return [...]string{"allowed", "denied", "shadow_denied", "error", "no_quorum_allowed"}[o]
}

// A Protocol is that of a request that is no command.
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

// RequestCounts returns the requests to this node, since the start, by command and protocol, for
// commands and protocols with at least one. Commands that scripts call are not requests.
func (h *Handler) RequestCounts() (all []RequestCount) {
	add := func(via string, of func(stripe int) *outcomeCounts) {
		c := RequestCount{Via: via}
		for i := range stripes {
			if counts := of(i); counts != nil {
				for o := range counts {
					c.N[o] += counts[o].Load()
				}
			}
		}
		if c.N != [Outcomes]int64{} {
			all = append(all, c)
		}
	}
	for _, c := range h.registry.Specs() {
		if c.Flags&Decides != 0 {
			add(strings.ToLower(c.FullName), func(i int) *outcomeCounts { return h.stats.stripes[i][c.ID].requests.Load() })
		}
	}
	for p, via := range [protocols]string{GRPC: "grpc", HTTP: "http"} {
		add(via, func(i int) *outcomeCounts { return &h.stats.others[i][p] })
	}
	return all
}

// Requests returns the sum of RequestCounts.
func (h *Handler) Requests() (n [Outcomes]int64) {
	for _, c := range h.RequestCounts() {
		for o := range n {
			n[o] += c.N[o]
		}
	}
	return n
}

// CountFailure counts a request of another protocol that was answered with an error before Check
// was called.
func (h *Handler) CountFailure(protocol Protocol) { h.countOther(protocol, WasError) }

// countOther counts a request of another protocol.
func (h *Handler) countOther(protocol Protocol, o Outcome) {
	if o < Outcomes {
		h.stats.others[h.stats.next.Add(1)%stripes][protocol][o].Add(1)
	}
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

// rejectRequest counts a request that is not executed. A redirection is none: the client asks the
// other node.
func (s *Session) rejectRequest(c *Spec, err error) {
	if c.Flags&Decides != 0 && resp.ErrorOf(err).Code != codeMoved {
		s.stats[c.ID].countRequests(WasError, 1)
	}
}

// outcomeOf returns the outcome of a request without rules. The decisions are those that the reply
// has. LEAKY tells a wait in both cases, so that its denials with SHADOW count as allowed.
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
		case op.Mode&engine.Shadow != 0 && d.Wait != engine.Span{} && d.Params.Alg != engine.Leaky:
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
