package rules

import (
	"slices"
	"sync/atomic"
)

// A way is the way of a descriptor through a domain without lists and without a tree, if it has
// certain keys in a certain order: the rules for which all attributes are there, and their places
// in the descriptor. Clients mostly send the same attributes in the same order, so that one
// comparison for each key replaces the search for its number, and the tries of other rules.
//
// It is learned from a descriptor that was matched without it, and holds no part of the domain,
// which other rules may replace.
type way struct {
	domain uint64 // Domain.id; 0: none
	keys   []byte // of the entries, one behind the other
	ends   []int32
	steps  []step
	places []uint8 // of all steps
	// constant is set if all descriptors with the way meet the same limits: see Result.Repeated.
	constant bool
}

// A step is a rule of a way.
type step struct {
	rule     int // in flat.rules
	from, to int // its part of places, as resolve makes it
}

const (
	// ways is the number of ways that a work knows. Ways of the same slot displace each other.
	ways = 8
	// maxWayKeys bounds the bytes of the keys of a way.
	maxWayKeys = 512
)

// lastDomain is the last Domain.id.
var lastDomain atomic.Uint64

// isDirect reports whether a request may have a way, by the rules of w.d.
func (w *work) isDirect(q *Request) bool {
	return w.d != nil && w.d.direct && w.counts == nil && len(q.Descriptors) == 1 && q.Descriptors[0].Limit == nil
}

// slot returns the place of the way of a descriptor.
func (w *work) slot(entries []Entry) *way {
	n := 0
	for i := range entries {
		n += len(entries[i].Key)
	}
	return &w.ways[n%ways]
}

// wayOf returns the way of a descriptor through w.d, or nil if it is not known or if a value may be
// too long.
func (w *work) wayOf(entries []Entry) *way {
	y := w.slot(entries)
	if y.domain != w.d.id || len(y.ends) != len(entries) {
		return nil
	}
	from := int32(0)
	for i := range entries {
		e, to := &entries[i], y.ends[i]
		if len(e.Value) > MaxValueBytes || string(e.Key) != string(y.keys[from:to]) {
			return nil
		}
		from = to
	}
	return y
}

// learn makes the way of a descriptor, of which w has the givens. Requires: isDirect, and valid
// sizes.
func (w *work) learn(q *Request) {
	s := w.attributes(q, 0)
	y := w.slot(s.entries)
	y.domain, y.keys, y.ends, y.steps, y.places = 0, y.keys[:0], y.ends[:0], y.steps[:0], y.places[:0]
	for i := range s.entries {
		if y.keys = append(y.keys, s.entries[i].Key...); len(y.keys) > maxWayKeys {
			return
		}
		y.ends = append(y.ends, int32(len(y.keys)))
	}
	y.constant = true
	for i := range w.d.flat.rules {
		rule, from, ok := &w.d.flat.rules[i], len(y.places), false
		if y.places, ok = rule.resolve(&s, y.places); ok {
			y.steps = append(y.steps, step{i, from, len(y.places)})
			y.constant = y.constant && rule.isConstant()
		}
	}
	y.domain = w.d.id
}

// isConstant reports whether all descriptors with the attributes of a rule meet the same limits,
// without a penalty box.
func (r *flatRule) isConstant() bool {
	return len(r.match) == 0 && r.tier == "" && r.rule.Penalty == nil &&
		!slices.ContainsFunc(r.limits, func(l *Limit) bool { return l.unlimited || len(l.replaces) > 0 })
}

// repeat makes the keys of the limits of the last Match, along the same way, for another request.
func (r *Result) repeat(y *way, entries []Entry) {
	w, limits := r.work, r.Limits
	for i := range y.steps {
		s := &y.steps[i]
		rule := &w.d.flat.rules[s.rule]
		base := w.ruleBase(rule, y.places[s.from:s.to], entries)
		for range rule.limits {
			limits[0].base = base
			w.makeKey(&limits[0])
			limits = limits[1:]
		}
	}
}

// follow collects the limits of the only descriptor of a request along its way, and reports whether
// a rule matched.
func (r *Result) follow(y *way, entries []Entry) (matched bool) {
	rules := r.work.d.flat.rules
	for i := range y.steps {
		s := &y.steps[i]
		matched = r.meetRule(&rules[s.rule], y.places[s.from:s.to], entries, 0) || matched
	}
	return matched
}
