package rules

import (
	"errors"
	"fmt"
	"slices"

	"limitsrv/engine"
)

// Counters finds the counters and penalty boxes of some attributes; requests may have further
// attributes. It finds the limits of each rule, in all its tiers, if all attributes by which the rule
// counts are given, and of the node of the tree at exactly the attributes. It leaves out a rule with
// a condition that one of the attributes does not meet. A rule that counts all requests together is
// found only by exactly the attributes of its match. The Keys of r.Limits and r.Guards are the
// result, valid until r is used again; the verdicts are undefined. An error means a mistake in q, or
// more than 1024 counters. Cost: O(rules of the domain) for each descriptor.
func (s *Set) Counters(q *Request, o *Overrides, now engine.Instant, r *Result) error {
	if err := q.check(); err != nil {
		return err
	}
	if r.work == nil {
		r.work = new(work)
	}
	w := r.work
	w.set, w.d, w.last = s, s.domains[string(q.Domain)], nil
	if w.d == nil {
		return s.unknownDomain(string(q.Domain))
	}
	if w.counts = o.domain(q.Domain); w.counts != nil {
		w.now, w.domain, w.overrides = now, q.Domain, o
	}
	r.reset()
	q = r.canonical(q)
	w.give(q)
	for i := range q.Descriptors {
		r.Descriptors = append(r.Descriptors, None)
		if w.counts != nil || !w.d.tree.isEmpty() {
			r.meetTree(q, i)
		}
		for j := range w.d.flat.rules {
			r.meetCounters(&w.d.flat.rules[j], q.Descriptors[i].Entries, i)
		}
	}
	for i := range r.Limits {
		if m := &r.Limits[i]; m.Rule.Penalty != nil && m.Mode == Enforced {
			r.guard(m)
		}
	}
	if w.beyond > 0 {
		return fmt.Errorf("at most %d counters, got %d", maxMet, len(r.Limits)+w.beyond)
	}
	return nil
}

// NoCounter returns the error for attributes for which Counters found nothing. It has the nearest name
// of an attribute that the domain does not know. Requires: the domain of q is known.
func (s *Set) NoCounter(q *Request) error {
	d := s.Domain(string(q.Domain))
	for i := range q.Descriptors {
		for _, e := range q.Descriptors[i].Entries {
			if !d.names(string(e.Key)) {
				return d.unknownKey(string(e.Key))
			}
		}
	}
	return errors.New("no rule counts by these attributes alone: RL.RULES MATCH explains the rules")
}

// meetCounters adds the limits of a rule if entries have all attributes by which the rule counts.
func (r *Result) meetCounters(rule *flatRule, entries []Entry, i int) {
	for k := range rule.match {
		m := &rule.match[k]
		if e := find(entries, m.key); e != nil && !m.matches(e.Value) || e == nil && len(rule.per) == 0 {
			return
		}
	}
	if len(rule.per) == 0 && len(entries) != len(rule.match) {
		return
	}
	places := make([]uint8, len(rule.match), len(rule.match)+len(rule.per))
	for _, key := range rule.per {
		at := slices.IndexFunc(entries, func(e Entry) bool { return string(e.Key) == key })
		if at < 0 {
			return
		}
		places = append(places, uint8(at))
	}
	for _, limits := range rule.byTier() {
		r.meetLimits(rule, limits, places, entries, i)
	}
}

// byTier returns the limits of each tier, in the order of the text, or the only limits.
func (r *flatRule) byTier() (all [][]*Limit) {
	if r.tier == "" {
		return [][]*Limit{r.limits}
	}
	for _, limits := range r.tiers {
		if len(limits) > 0 {
			all = append(all, limits)
		}
	}
	slices.SortFunc(all, func(a, b []*Limit) int { return a[0].Index - b[0].Index })
	return slices.CompactFunc(all, func(a, b []*Limit) bool { return a[0] == b[0] }) // default may name another tier
}
