package rules

import (
	"slices"
)

// meetRules collects the limits of the rules that a descriptor matches, in the order of the
// file, and reports whether there are any.
func (r *Result) meetRules(q *Request, i int) (matched bool) {
	w := r.work
	entries := q.Descriptors[i].Entries
	w.candidates(entries, w.offsets[i])
	for _, index := range w.found {
		rule := &w.d.flat.rules[index]
		limits, ok := rule.limitsFor(entries)
		if !ok {
			continue
		}
		matched = true
		r.meetRule(rule, limits, entries, i)
	}
	return matched
}

// candidates sets w.found to the rules that a descriptor may match, in the order of the file.
func (w *Work) candidates(entries []Entry, offset int) {
	f := &w.d.flat
	w.found = append(w.found[:0], f.always...)
	for j := range entries {
		e, h := &entries[j], &w.hashes[offset+j]
		if firstIndex(entries, e.Key) != j {
			continue
		}
		if at, ok := f.table.get(0, e.Key, e.Value, h.key, h.value); ok {
			w.found = append(w.found, f.buckets[at]...)
		}
		if at, ok := f.table.getAny(0, e.Key, h.key); ok {
			w.found = append(w.found, f.buckets[at]...)
		}
	}
	if len(w.found) > 1 {
		slices.Sort(w.found)
	}
}

// meetRule adds the limits of a rule that matches a descriptor.
func (r *Result) meetRule(rule *flatRule, limits []*Limit, entries []Entry, i int) {
	w := r.work
	base := span{start: len(w.keys)}
	w.keys = append(w.keys, rule.stem...)
	for _, key := range rule.per {
		w.keys = appendEscaped(append(w.keys, '|'), find(entries, key).Value)
	}
	base.end = len(w.keys)
	whole := w.ruleOverride(rule, rule.rule.Name, entries)
	for j, l := range limits {
		r.replaces(l)
		v := whole
		if v == nil {
			v = w.ruleOverride(rule, l.Name, entries)
		} else if j > 0 {
			continue // whole replaces all
		}
		switch {
		case v != nil && v.limit.unlimited, v == nil && l.unlimited:
			r.Descriptors[i] = Unlimited
		case v != nil:
			r.add(&Met{Limit: v.limit, Rule: l.Rule, Mode: l.Mode, Index: l.Index, Descriptor: i, base: base, Override: v, set: l})
		default:
			r.add(&Met{Limit: l, Rule: l.Rule, Mode: l.Mode, Index: l.Index, Descriptor: i, base: base, set: l})
		}
	}
}
