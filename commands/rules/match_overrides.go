package rules

import (
	"net/netip"
	"slices"
	"strings"
)

// gateOverride returns the effect of the deepest override that allows or denies a
// descriptor, DENY if several are as deep, or 0. A plain value goes before a range or a pattern. In a
// domain with rules, the attributes of an override may stand anywhere in the descriptor.
func (w *work) gateOverride(entries []Entry) (effect Effect) {
	counts := w.counts
	if counts == nil {
		return 0
	}
	w.probe = append(appendSized(w.probe[:0], w.domain), pathID)
	domain, depth := len(w.probe), -1
	note := func(at int) {
		if v := w.overrides.get(w.probe, w.d, w.now); v != nil && v.Effect != Replace &&
			(at > depth || at == depth && v.Effect == Deny) {
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
	if w.d != nil && len(w.d.flat.rules) > 0 {
		for i := range counts.shapes {
			s := &counts.shapes[i]
			if w.probe = w.probe[:domain]; w.appendShape(s, entries) {
				note(len(s.keys))
			}
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

// A shape is the keys of an override with several attributes, in the order of its path.
type shape struct {
	keys  []string
	count int32 // overrides with these keys
}

// MaxShapes bounds the shapes of a domain, because each request of the domain is compared with all.
const MaxShapes = 256

// HasShapeFor reports whether the keys of an override are among the shapes of its domain, or there is
// room for them.
func (o *Overrides) HasShapeFor(v *Override) bool {
	counts := o.domain([]byte(v.Domain))
	return counts == nil || v.Effect == Replace || v.wide != nil || len(v.Path) < 2 || len(counts.shapes) < MaxShapes ||
		slices.ContainsFunc(counts.shapes, func(s shape) bool { return s.is(v.Path) })
}

// changeShapes returns the shapes of a domain with v in addition, or without it.
func changeShapes(all []shape, v *Override, by int32) []shape {
	all = slices.Clone(all)
	at := slices.IndexFunc(all, func(s shape) bool { return s.is(v.Path) })
	switch {
	case at < 0:
		s := shape{count: by}
		for _, a := range v.Path {
			s.keys = append(s.keys, a.Key)
		}
		return append(all, s)
	case all[at].count+by == 0:
		return slices.Delete(all, at, at+1)
	}
	all[at].count += by
	return all
}

func (s *shape) is(path []Attribute) bool {
	return slices.EqualFunc(s.keys, path, func(key string, a Attribute) bool { return key == a.Key })
}

// appendShape appends the keys of a shape with their first values in some entries to the probe. ok is
// false if a key is missing.
func (w *work) appendShape(s *shape, entries []Entry) (ok bool) {
	for _, key := range s.keys {
		e := find(entries, key)
		if e == nil {
			return false
		}
		w.probe = appendSized(appendSized(w.probe, e.Key), e.Value)
	}
	return true
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

// A wideValue is the value of an attribute of an override: plain text, a range of addresses, or a
// pattern.
type wideValue struct {
	text    string // plain; "" for a range or a pattern
	network netip.Prefix
	pattern *pattern
}

// widen returns the values of an Allow or Deny, or nil if all are plain.
func (v *Override) widen() (values []wideValue) {
	if v.Effect == Replace ||
		!slices.ContainsFunc(v.Path, func(a Attribute) bool { return isRange(a.Value) || isPattern(a.Value) }) {
		return nil
	}
	for _, a := range v.Path {
		w := wideValue{text: a.Value}
		if network, ok := canonicalRange(a.Value); ok {
			w = wideValue{network: network}
		} else if isPattern(a.Value) {
			p := makePattern(a.Value)
			w = wideValue{pattern: &p}
		}
		values = append(values, w)
	}
	return values
}

func (w *wideValue) matches(value []byte) bool {
	switch {
	case w.pattern != nil:
		return w.pattern.matches(value)
	case w.network.IsValid():
		a, ok := ParseAddress(value)
		return ok && w.network.Contains(a)
	}
	return w.text == string(value)
}

// covers reports whether the attributes of a wide override match the first of some entries.
func (v *Override) covers(entries []Entry) bool {
	if len(v.wide) > len(entries) {
		return false
	}
	for i := range v.wide {
		if e := &entries[i]; v.Path[i].Key != string(e.Key) || !v.wide[i].matches(e.Value) {
			return false
		}
	}
	return true
}

// coversAnywhere reports whether the attributes of a wide override match the first values of their keys
// in some entries.
func (v *Override) coversAnywhere(entries []Entry) bool {
	for i := range v.wide {
		if e := find(entries, v.Path[i].Key); e == nil || !v.wide[i].matches(e.Value) {
			return false
		}
	}
	return true
}

// wideOverride returns the effect of the deepest wide override of a descriptor that is deeper than
// depth, with the same precedence as gateOverride, or else effect.
func (w *work) wideOverride(entries []Entry, effect Effect, depth int) Effect {
	anywhere, wide := w.d != nil && len(w.d.flat.rules) > 0, false // wide: effect is of a wide override
	for _, v := range w.counts.wide {
		at := len(v.wide)
		if v.expired(w.now) || at < depth || at == depth && (effect == Deny || !wide) {
			continue
		}
		matches := v.covers(entries)
		for i := 1; !matches && anywhere && at == 1 && i < len(entries); i++ {
			matches = v.covers(entries[i:])
		}
		if matches = matches || anywhere && at > 1 && v.coversAnywhere(entries); matches {
			effect, depth, wide = v.Effect, at, true
		}
	}
	return effect
}

// changeWide returns the wide overrides of a domain with v in addition, or without it. They are in
// the order of their ids.
func changeWide(all []*Override, v *Override, by int32) []*Override {
	all = slices.DeleteFunc(slices.Clone(all), func(o *Override) bool { return o.id == v.id })
	if by > 0 {
		all = append(all, v)
		slices.SortFunc(all, func(a, b *Override) int { return strings.Compare(a.id, b.id) })
	}
	return all
}

// NumWide returns the number of overrides of a domain with ranges or patterns, without v itself.
func (o *Overrides) NumWide(v *Override) (n int) {
	if counts := o.domain([]byte(v.Domain)); counts != nil {
		for _, other := range counts.wide {
			if other.id != v.id {
				n++
			}
		}
	}
	return n
}

// IsWide reports whether a value of the override is a range or a pattern.
func (v *Override) IsWide() bool { return v.wide != nil }
