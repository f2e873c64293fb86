package rules

// gateOverride returns the effect of the deepest override that allows or denies a
// descriptor, DENY if several are as deep, or 0. A plain value goes before a range or a pattern.
func (w *work) gateOverride(entries []Entry) (effect Effect) {
	counts := w.counts
	if counts == nil {
		return 0
	}
	w.probe = append(appendSized(w.probe[:0], w.domain), pathID)
	domain, depth := len(w.probe), -1
	note := func(at int) {
		if v := w.overrides.get(w.probe, w.d, w.now); v != nil && v.Effect != Replace && (at > depth || v.Effect == Deny) {
			effect, depth = v.Effect, at
		}
	}
	if w.d != nil && len(w.d.flat.rules) > 0 && counts.gates[1] > 0 {
		for i := 1; i < len(entries); i++ {
			w.probe = appendSized(appendSized(w.probe[:domain], entries[i].Key), entries[i].Value)
			note(1)
		}
		w.probe = w.probe[:domain]
	}
	for at := 0; ; at++ {
		if counts.gates[at] > 0 && (at != 0 || depth < 0) {
			note(at)
		}
		if at == len(entries) {
			break
		}
		w.probe = appendSized(appendSized(w.probe, entries[at].Key), entries[at].Value)
	}
	if len(counts.wide) > 0 {
		return w.wideOverride(entries, effect, depth)
	}
	return effect
}

// pathOverride returns the override with a limit for exactly a path, or nil.
func (w *work) pathOverride(entries []Entry) *Override {
	if w.counts == nil || w.counts.limits[len(entries)] == 0 {
		return nil
	}
	w.probe = append(appendSized(w.probe[:0], w.domain), pathID)
	for i := range entries {
		w.probe = appendSized(appendSized(w.probe, entries[i].Key), entries[i].Value)
	}
	if v := w.overrides.get(w.probe, w.d, w.now); v != nil && v.Effect == Replace {
		return v
	}
	return nil
}

// ruleOverride returns the override of a rule, or of one of its limits, for the values of
// its attributes per, or nil.
func (w *work) ruleOverride(rule *flatRule, name string, entries []Entry) *Override {
	if w.counts == nil || w.counts.rules == 0 {
		return nil
	}
	w.probe = appendSized(append(appendSized(w.probe[:0], w.domain), ruleID), name)
	for _, i := range rule.sorted {
		e := find(entries, rule.per[i])
		w.probe = appendSized(appendSized(w.probe, e.Key), rule.group(i, e.Value))
	}
	return w.overrides.get(w.probe, w.d, w.now)
}
