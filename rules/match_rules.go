package rules

import "slices"

// meetRules collects the limits of the rules that a descriptor matches, in the order of the
// file, and reports whether there are any.
func (r *Result) meetRules(q *Request, i int) (matched bool) {
	w := r.work
	s := w.attributes(q, i)
	w.candidates(&s)
	for _, index := range w.found {
		rule := &w.d.flat.rules[index]
		limits, ok := rule.limitsFor(&s)
		if !ok {
			continue
		}
		matched = true
		r.meetRule(rule, limits, &s, i)
	}
	return matched
}

// candidates sets w.found to the rules that a descriptor may match, in the order of the file.
func (w *Work) candidates(s *attributeSet) {
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

// meetRule adds the limits of a rule that matches a descriptor.
func (r *Result) meetRule(rule *flatRule, limits []*Limit, s *attributeSet, i int) {
	w := r.work
	base := w.ruleBase(rule, s)
	whole := w.ruleOverride(rule, rule.rule.Name, s.entries)
	for j, l := range limits {
		if len(l.replaces) > 0 {
			r.replaces(l)
		}
		v, of := whole, l
		switch {
		case v != nil && j > 0:
			continue // whole replaces all
		case v == nil:
			v = w.ruleOverride(rule, l.Name, s.entries)
		}
		if v != nil {
			of = v.limit
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

// ruleBase appends the key of a rule's counters, without a suffix.
func (w *Work) ruleBase(rule *flatRule, s *attributeSet) (base span) {
	base.start = len(w.keys)
	keys := append(w.keys, rule.stem...)
	for _, number := range rule.perNumbers {
		keys = appendEscaped(append(keys, '|'), s.find(number).Value)
	}
	w.keys = keys
	base.end = len(keys)
	return base
}
