package live

import (
	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/stored"
)

// A State is the compiled form of the rules and overrides of an engine. It is immutable,
// except for its counters.
type State struct {
	// Set is never nil; without rules it is an empty Set.
	Set       *rules.Set
	Overrides *rules.Overrides
	// Version is the version of the engine's documents, for the guard of a group.
	Version uint64
	// Shadow is set if all limits are shadow limits, and nothing is denied: --rules-shadow.
	Shadow bool
	// Header describes the rules; its Version is 0 if there are no rules.
	Header stored.Header
	// Err, unless nil, is the *resp.Error with which to answer every request: this program can
	// not compile the rules. Set is then empty.
	Err error
	// Documents have the rules and overrides, of the same version.
	Documents stored.Documents

	counts *counts
}

// Options are options of a State.
type Options struct {
	// Shadow is State.Shadow.
	Shadow bool
	// Series bounds the labels with counters of their own, 0 to MaxSeries: see rules.Met. The
	// metrics of limits have the same bound.
	Series int
}

// NewState returns the State of rules that are in no engine, without overrides.
func NewState(set *rules.Set, o Options) *State {
	return &State{Set: set, Shadow: o.Shadow, counts: newCounts(set, o.Series)}
}

// errNeedsNewer answers requests by rules that this program can not compile.
var errNeedsNewer = resp.NewError("LOADING", "rules need a newer version of limitsrv")

// empty is a Set without rules.
var empty = new(rules.Set)

// next returns the State of the documents of a version. set returns the compiled form of the
// rules that a Header describes, and unless nil the counters of their limits. Requires: no other
// next of s.
//
// Cost: a call of set if the rules changed, and microseconds for each override that changed.
func (s *State) next(version uint64, documents stored.Documents,
	set func(h *stored.Header) (*rules.Set, *counts, error)) *State {
	n := &State{
		Version: version, Shadow: s.Shadow, Documents: documents, Set: s.Set, Header: s.Header, counts: s.counts,
		Overrides: s.Overrides,
	}
	var carried *counts
	h, err := documents.Header()
	switch {
	case err != nil:
		n.fail(h)
	case h.Version == 0:
		n.Set, n.Header = empty, h
	case h.SHA == s.Header.SHA && s.Err == nil:
		n.Header = h
	default:
		n.Header = h
		if n.Set, carried, err = set(&h); err != nil {
			n.fail(h)
		}
	}
	if n.Set != s.counts.set && n.Err == nil {
		if n.counts = carried; carried == nil {
			d := rules.Compare(s.counts.set, n.Set)
			n.counts = s.counts.next(n.Set, &d)
		}
	}
	if n.Overrides, err = documents.Overrides(s.Overrides, s.Documents); err != nil {
		n.fail(h)
	}
	return n
}

// Mode returns the effective mode of a limit with a mode of its own.
func (s *State) Mode(own rules.Mode) rules.Mode {
	if s.Shadow {
		return rules.Shadow
	}
	return own
}

func (s *State) fail(h stored.Header) { s.Set, s.Header, s.Err = empty, h, errNeedsNewer }
