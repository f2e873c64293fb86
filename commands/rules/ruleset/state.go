package ruleset

import (
	"bytes"
	"slices"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/engine"
)

// A State is the compiled form of the rules and overrides of an engine. It is immutable,
// except for its counters.
type State struct {
	// Set is never nil; without rules it is an empty one.
	Set       *rules.Set
	Overrides *rules.Overrides
	// Version is the version of the engine's documents, for the guard of a group.
	Version uint64
	// Shadow is set if all limits are shadow limits, and nothing is denied: --rules-shadow.
	Shadow bool
	// Header describes the rules; its Version is 0 if there are none.
	Header Header
	// Err, unless nil, is the *resp.Error with which to answer every request: this program can
	// not compile the rules. Set is then empty.
	Err error

	list   []*engine.Document
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

// next returns the State of the documents of a version. set returns the
// compiled form of the rules that a Header describes, and unless nil the counters of their
// limits. Requires: no other next of s.
//
// Cost: a call of set if the rules changed, and microseconds for each override that changed.
func (s *State) next(version uint64, list []*engine.Document, set func(h *Header) (*rules.Set, *counts, error)) *State {
	n := &State{Version: version, Shadow: s.Shadow, list: list, Set: s.Set, Header: s.Header, counts: s.counts, Overrides: s.Overrides}
	var carried *counts
	h, err := header(snapshot(list))
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
	if n.Overrides, err = changedOverrides(s.Overrides, s.list, list); err != nil {
		n.fail(h)
	}
	return n
}

// Knows reports whether the rules have, or had, a text with a SHA-256.
func (s *State) Knows(sha [32]byte) bool {
	if s.Header.SHA == sha {
		return true
	}
	for _, d := range withPrefix(s.list, pastPrefix) {
		if h, err := readHeader(d.Text); err == nil && h.SHA == sha {
			return true
		}
	}
	if d := snapshot(s.list).Document(engine.Rules, forgottenName); d != nil {
		for part := range slices.Chunk([]byte(d.Text), forgottenBytes) {
			if bytes.Equal(part, sha[:forgottenBytes]) {
				return true
			}
		}
	}
	return false
}

// Mode returns the mode in which a limit with a mode of its own decides.
func (s *State) Mode(own rules.Mode) rules.Mode {
	if s.Shadow {
		return rules.Shadow
	}
	return own
}

func (s *State) fail(h Header) { s.Set, s.Header, s.Err = empty, h, errNeedsNewer }

// changedOverrides returns the overrides of a list of documents, from those of an older list.
func changedOverrides(o *rules.Overrides, older, newer []*engine.Document) (*rules.Overrides, error) {
	older, newer = withPrefix(older, overridePrefix), withPrefix(newer, overridePrefix)
	var add []*rules.Override
	for len(older) > 0 || len(newer) > 0 {
		switch {
		case len(older) > 0 && len(newer) > 0 && older[0] == newer[0]:
			older, newer = older[1:], newer[1:]
		case len(newer) == 0 || len(older) > 0 && older[0].Name < newer[0].Name:
			if v, err := compiledOverride(older[0]); err == nil {
				o = o.Without(v)
			}
			older = older[1:]
		default:
			v, err := compiledOverride(newer[0])
			if err != nil {
				return nil, err
			}
			add = append(add, v)
			if len(older) > 0 && older[0].Name == newer[0].Name {
				older = older[1:]
			}
			newer = newer[1:]
		}
	}
	if len(add) == 0 {
		return o, nil
	}
	return o.WithAll(add), nil
}

// A snapshot is the documents of the space engine.Rules at one moment.
type snapshot []*engine.Document

func (s snapshot) Document(_ engine.Space, name string) *engine.Document {
	if at := search(s, name); at < len(s) && s[at].Name == name {
		return s[at]
	}
	return nil
}
