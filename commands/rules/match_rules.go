package rules

import "slices"

// maxTried bounds the rules that are all tried. If there are more, those that may match are looked
// up: the hashes and probes for an attribute cost as much as eight rules that don't match.
const maxTried = 8

// meetRules collects the limits of the rules that a descriptor matches, in the order of the
// file, and reports whether there are any.
func (r *Result) meetRules(q *Request, i int) (matched bool) {
	w := r.work
	s := w.attributes(q, i)
	all := w.d.flat.rules
	if len(all) <= maxTried {
		for j := range all {
			matched = r.try(&all[j], &s, i) || matched
		}
		return matched
	}
	w.candidates(&s)
	for _, j := range w.found {
		matched = r.try(&all[j], &s, i) || matched
	}
	return matched
}

// try is meetRule for a descriptor that may lack attributes.
func (r *Result) try(rule *flatRule, s *attributeSet, i int) (matches bool) {
	w, ok := r.work, false
	w.places, ok = rule.resolve(s, w.places[:0])
	return ok && r.meetRule(rule, w.places, s.entries, i)
}

// candidates sets w.found to the rules that a descriptor may match, in the order of the file.
func (w *work) candidates(s *attributeSet) {
	f := &w.d.flat
	found := append(w.found[:0], f.always...)
	for j := range s.givens {
		g := &s.givens[j]
		if g.number < 0 || !s.isFirst(j) {
			continue
		}
		named := &w.d.attributes.all[g.number]
		if named.found {
			e := &s.entries[j]
			if at, ok := f.table.get(0, e.Key, e.Value, g.key, g.value); ok {
				found = append(found, f.buckets[at]...)
			}
		}
		if named.bucket >= 0 {
			found = append(found, f.buckets[named.bucket]...)
		}
	}
	if len(found) > 1 {
		slices.Sort(found)
	}
	w.found = found
}

// meetRule reports whether rule matches descriptor i, and if so adds its limits. Requires: places
// is the result of resolve for that descriptor.
func (r *Result) meetRule(rule *flatRule, places []uint8, entries []Entry, i int) (matches bool) {
	limits, ok := rule.limitsFor(entries, places)
	if ok {
		r.meetLimits(rule, limits, places, entries, i)
	}
	return ok
}

// meetLimits adds limits of a rule that matches descriptor i. places are as for meetRule.
func (r *Result) meetLimits(rule *flatRule, limits []*Limit, places []uint8, entries []Entry, i int) {
	w := r.work
	base := w.ruleBase(rule, places[len(rule.match):], entries)
	overridden := w.counts != nil && w.counts.rules > 0
	var whole *Override
	if overridden {
		whole = w.ruleOverride(rule, rule.rule.Name, entries)
	}
	for j, l := range limits {
		if len(l.replaces) > 0 {
			r.replaces(l)
		}
		v, of := whole, l
		if overridden {
			if whole != nil && j > 0 {
				continue // whole replaces all
			}
			if v == nil {
				v = w.ruleOverride(rule, l.Name, entries)
			}
			if v != nil {
				of = v.limit
			}
		}
		if of.unlimited {
			r.Descriptors[i] = Unlimited
			continue
		}
		m := r.next()
		m.Limit, m.Rule, m.Mode, m.Index, m.Descriptor, m.base, m.Override, m.set = of, l.Rule, l.Mode, l.Index, i, base, v, l
		r.add()
	}
}

// ruleBase appends the key of a rule's counters, without a suffix. places starts with the places of
// per.
func (w *work) ruleBase(rule *flatRule, places []uint8, entries []Entry) (base span) {
	base.start = len(w.keys)
	keys := append(w.keys, rule.stem...)
	if rule.bits == nil {
		for _, at := range places[:len(rule.perNumbers)] {
			keys = appendValue(append(keys, '|'), entries[at].Value)
		}
	} else {
		for i, at := range places[:len(rule.perNumbers)] {
			keys = appendGroup(append(keys, '|'), entries[at].Value, rule.bits[i])
		}
	}
	w.keys = keys
	base.end = len(keys)
	return base
}
