package rules

import (
	"fmt"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// A Verdict tells how the limits of a request, or of one of its descriptors, decide.
type Verdict uint8

const (
	// Limited means that Result.Limits decide.
	Limited Verdict = iota
	// Denied means that a list or an override denies, without any counting.
	Denied
	// Allowed means that a list or an override allows.
	Allowed
	// Unlimited means that it is allowed because of an unlimited rule.
	Unlimited
	// None means that it is allowed because no limit applies.
	None
	// Unmatched means that it is denied because no rule matches, and the domain says
	// unmatched: deny.
	Unmatched
)

// String returns the word of a verdict in replies; for Limited it is ok.
func (v Verdict) String() string {
	return [...]string{"ok", "denied", "allowed", "unlimited", "none", "unmatched"}[v]
}

// Passes reports whether a request with the verdict may pass, as far as that is known
// without its limits.
func (v Verdict) Passes() bool { return v != Denied && v != Unmatched }

// A Result is the answer of a Match. It can be used again, which saves allocations; the
// zero value is ready.
type Result struct {
	Verdict Verdict
	// Domain is nil if the set has no domain of that name.
	Domain *Domain
	// Matched is set if any rule or node matched, with a limit or without.
	Matched bool
	// Repeated is set if the Result equals the result of the last Match, except for the keys
	// of Limits.
	Repeated bool
	// Limits are the limits of the group, in the order of the descriptors, for each first
	// the tree and then the rules in the order of the file. Only a Verdict of Limited has
	// some: 1 to engine.MaxGroup. A limit from which the Amounts take 0 is left out, see Request.Holds.
	Limits []Met
	// Shared are the further descriptors that meet one of Limits through its rule. Its
	// counter is taken once, for the first of them.
	Shared []Shared
	// Guards are the penalty boxes of the rules of these limits.
	Guards []Guard
	// Descriptors has a Verdict for each descriptor: Denied, Allowed, Limited, Unlimited or
	// None.
	Descriptors []Verdict
	// BadAddresses is the number of attributes that must be addresses, but can't be parsed.
	BadAddresses int

	work *work // nil: no work yet
}

// A Shared is a descriptor that meets a limit of an earlier descriptor.
type Shared struct {
	Limit, Descriptor int // the index in Limits, and of the descriptor
}

// A Met is a limit that a request meets.
type Met struct {
	// Key is the key of the counter. It stays valid until Result.Release.
	Key []byte
	// Limit is the limit of the set, or of an override or a request; its fields Rule, Mode,
	// Index and Name do not hold here.
	Limit *Limit
	// Rule is the rule or node; of a limit that comes with the request, or of an override of
	// a path without a limit, it has the name "request" or "override".
	Rule *Rule
	// Mode is the mode of the limit in the set: Enforced without a limit.
	Mode Mode
	// Index is the Index of the limit in the set, or -1.
	Index int
	// Hits is the number of tokens that a request with Amounts takes from the limit: 1 to
	// engine.MaxN. With Used it may also be negative, from -engine.MaxN. It is 0 only with Holds. Without
	// Amounts it is undefined.
	Hits int64
	// Descriptor is the index of the descriptor; a rule that several descriptors meet with
	// the same counter has the first.
	Descriptor int
	// Guard is the index in Result.Guards, or -1.
	Guard int
	// Override is the override that replaced the limit, or nil.
	Override *Override
	// Label is the path of the node for metrics, with values of the request, as
	// detailed_metric and value_to_metric want it; nil without these words, or if it is
	// longer than 512 bytes. It stays valid as long as Key.
	Label []byte

	base span   // of the key, without the suffix
	set  *Limit // the limit in the set, or nil
}

// Name is the name of the limit for clients.
func (m *Met) Name() string { return m.Named().Name }

// OwnMode returns the Mode that Match set.
func (m *Met) OwnMode() Mode {
	if m.set != nil {
		return m.set.Mode
	}
	return Enforced
}

// Named returns the limit that has the name: not the limit of an override that takes its
// place.
func (m *Met) Named() *Limit {
	if m.Override != nil && m.set != nil && (m.Override.Rule == m.set.Name || m.Rule.Tree) {
		return m.set
	}
	return m.Limit
}

// HasEvents reports whether the thresholds of the limit are events: the limit has the word, or it
// replaces a limit that has it.
func (m *Met) HasEvents() bool { return m.Limit.Events || m.set != nil && m.set.Events }

// SetOp makes op the op for n requests under the limit, without a mode and outside of a group. id
// is the holder of a lease; a request takes a lease, or no lease if n is 0. Its Key is m.Key.
//
// For a None limit it is a Take that is always denied and changes nothing. The Limit and the
// Remaining of its Decision are then 1; clients must get 0 and 0.
func (m *Met) SetOp(op *engine.Op, n int64, id []byte) {
	op.Kind, op.Mode, op.Group, op.DB, op.N, op.Params, op.Key, op.ID = engine.Take, 0, 0, 0, n, m.Limit.Params, m.Key, nil
	switch {
	case m.Limit.None && n > 0:
		op.N = engine.MaxN
	case m.Limit.HasLeases():
		op.Kind, op.N, op.ID = engine.Acquire, min(n, 1), id
	}
}

// Weights returns the weights of the limit, in the order of their names. A limit of an override has the weights of
// the limit that it replaces, unless it has its own, or hits: 1.
func (m *Met) Weights() []source.Weight {
	if len(m.Limit.weights) == 0 && !m.Limit.requests && m.set != nil {
		return m.set.weights
	}
	return m.Limit.weights
}

// TakesOne reports whether the limit takes one token of a request with hits, and no token of a request
// without hits. A limit of an override takes one if the limit that it replaces does, unless it has weights.
func (m *Met) TakesOne() bool {
	return m.Limit.requests || m.set != nil && m.set.requests && len(m.Limit.weights) == 0
}

// IsWeighed reports whether the limit has weights for named amounts.
func (m *Met) IsWeighed() bool { return len(m.Weights()) > 0 }

// weigh sets the Hits of Limits by the amounts of the request, and drops the limits that they do not
// concern.
func (r *Result) weigh(q *Request) error {
	for i := range r.Limits {
		m, ok := &r.Limits[i], true
		switch weights := m.Weights(); {
		case len(weights) > 0:
			if m.Hits, ok = weigh(weights, q.Amounts); !ok {
				return fmt.Errorf("the amounts of the request weigh too much in %s: from %d to %d is allowed", m.Name(),
					-int64(engine.MaxN), int64(engine.MaxN))
			}
		case q.Used && !m.Limit.HasLeases():
			m.Hits = 0
		default:
			m.Hits = 1
		}
	}
	r.keep(func(m *Met) bool { return m.Hits != 0 || q.Holds && !m.Limit.None && m.Mode != Quota })
	return nil
}

// A Guard is a penalty box: if it is closed, the request is denied as blocked.
type Guard struct {
	// Key is the key of the box. It stays valid until Result.Release.
	Key []byte
	// Rule is the rule, which has a Penalty; it names the box for clients.
	Rule *Rule
	// Descriptor is the index of the first descriptor that met the rule with this box.
	Descriptor int

	base span // as base of a Met
}

// Attributes returns the attributes of the request that a limit or a box of the rule is for, for
// people: the attributes of the rule's per, or in the tree all attributes of the descriptor. It
// allocates.
func (r *Rule) Attributes(q *Request, descriptor int) (all []Attribute) {
	entries := q.Descriptors[descriptor].Entries
	d := r.Domain
	if r.Tree || r.Sent {
		for _, e := range entries {
			all = append(all, Attribute{string(e.Key), d.canonical(string(e.Key), string(e.Value))})
		}
		return all
	}
	rule := r.compiled()
	for i, key := range rule.per {
		value := d.canonical(key, string(find(entries, key).Value))
		all = append(all, Attribute{key, string(rule.group(i, []byte(value)))})
	}
	return all
}

// A span is a part of work.keys, which move as they grow.
type span struct{ start, end int }

// Match finds the limits that a request meets at now, the instant that overrides expire by.
// o may be nil. An error is a mistake of the request, with its allowed and given values;
// the Result is then undefined.
//
// Concurrency: a Set and [Overrides] serve any number of Matches at once, a Result a single
// Match. Cost: O(entries + candidate rules), without allocation once the Result has grown.
func (s *Set) Match(q *Request, o *Overrides, now engine.Instant, r *Result) error {
	return s.match(q, o, now, r)
}

// Forget makes the next Match compute its limits, and not reuse the limits of the last Match. It
// must be called after a change of Limits or Guards.
func (r *Result) Forget() { r.work.last = nil }

// Release invalidates the keys and limits of all Matches since the last Release, so that their
// memory is used again. It must be called after a batch, or after each Match.
func (r *Result) Release() {
	w := r.work
	if w == nil {
		return
	}
	w.sentUsed, w.set = 0, nil
	if w.keys = w.keys[:0]; cap(w.keys) > maxKeptBytes {
		w.keys = nil
	}
}

// maxKeptBytes bounds the memory of keys that a Result keeps for the next Match.
const maxKeptBytes = 256 << 10
