package rules

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/word"
)

// MaxWideOverrides bounds the overrides of a domain with ranges or patterns, because each request of
// the domain is compared with all of them.
const MaxWideOverrides = 256

// Reach returns the number of limits that an override changes: for Allow and Deny, the limits that
// requests with its attributes may meet, and all limits of the tree. It returns an error if no request
// that the rules know can meet the override; the error has the nearest name. Requires: v is as Spell
// returns it. Cost: O(rules and nodes of the domain).
func (s *Set) Reach(v *Override) (limits int, err error) {
	d := s.Domain(v.Domain)
	if d == nil {
		return 0, s.unknownDomain(v.Domain)
	}
	for _, a := range v.Path {
		if err := d.reaches(v, a); err != nil {
			return 0, err
		}
	}
	switch {
	case v.Effect != Replace:
		for l := range s.Limits(v.Domain, 0) {
			if l.Rule.Tree {
				limits++
			}
		}
		for i := range d.flat.rules {
			limits += d.flat.rules[i].mayCount(v)
		}
		return limits, nil
	case v.Rule == "":
		return d.reachPath(v)
	}
	return d.reachRule(v)
}

// mayCount returns the number of limits of the rule that requests with the attributes of an override
// may meet.
func (r *flatRule) mayCount(v *Override) int {
	plain := func(key string) (value string, ok bool) {
		i := slices.IndexFunc(v.Path, func(a Attribute) bool { return a.Key == key })
		if i < 0 || isRange(v.Path[i].Value) || isPattern(v.Path[i].Value) {
			return "", false
		}
		return v.Path[i].Value, true
	}
	for i := range r.match {
		if value, ok := plain(r.match[i].key); ok && !r.match[i].matches([]byte(value)) {
			return 0
		}
	}
	if value, ok := plain(r.tier); ok && r.tier != "" {
		if limits, known := r.tiers[value]; known {
			return len(limits)
		}
		return len(r.other)
	}
	return len(slices.Concat(r.byTier()...))
}

// unknownDomain returns the error for a name that no domain has.
func (s *Set) unknownDomain(name string) error {
	return fmt.Errorf("domain: one of the rules, got %s%s", word.Excerpt([]byte(name)), word.Meant(name, s.domainNames()))
}

func (s *Set) domainNames() (names []string) {
	for _, d := range s.order {
		names = append(names, d.Name)
	}
	return names
}

// unknownKey returns the error for an attribute that the document does not name.
func (d *Domain) unknownKey(key string) error {
	return fmt.Errorf("attribute: one that the rules of %s name, got %s%s", d.Name, word.Excerpt([]byte(key)),
		word.Meant(key, d.keys()))
}

// reaches returns an error if an attribute of an override can't match.
func (d *Domain) reaches(v *Override, a Attribute) error {
	if !d.names(a.Key) {
		return d.unknownKey(a.Key)
	}
	if v.Effect == Replace && (isPattern(a.Value) || v.Rule == "" && isRange(a.Value)) {
		return fmt.Errorf("value of %s: LIMIT takes a value, and neither a pattern nor a range, got %s", a.Key,
			word.Excerpt([]byte(a.Value)))
	}
	if d.IsAddress(a.Key) && isBadAddress(a.Value) {
		return badAddress(a)
	}
	return d.isLate(v, a)
}

func badAddress(a Attribute) error {
	return fmt.Errorf("value of %s: an address such as 192.0.2.1 or 2001:db8::1, a range such as 192.0.2.0/24, or a "+
		"pattern with *, got %s", a.Key, word.Excerpt([]byte(a.Value)))
}

// isBadAddress reports whether a value of an address is neither an address, a range nor a pattern, and
// looks like a mistyped address or range. Requests have other values too, such as unknown or _hidden.
func isBadAddress(value string) bool {
	if _, ok := canonicalRange(value); ok || isPattern(value) || strings.HasPrefix(value, "_") {
		return false
	}
	_, ok := ParseAddress([]byte(value))
	return !ok && strings.ContainsAny(value, ".:/")
}

// isLate returns an error if the lists of the domain decide each request with an attribute of an
// override before the override does. Lists in deny go before all overrides but DENY, and lists in
// allow before LIMIT.
func (d *Domain) isLate(v *Override, a Attribute) error {
	if v.Effect == Deny || isPattern(a.Value) {
		return nil
	}
	for _, before := range []struct {
		list   string
		effect int32
	}{{"deny", listDenies}, {"allow", listAllows}} {
		if before.effect == listAllows && v.Effect == Allow || !d.listsAll(a, before.effect) {
			continue
		}
		return fmt.Errorf("value of %s: %s is in a list of %s, which goes before %v: change the list", a.Key,
			word.Excerpt([]byte(a.Value)), before.list, v.Effect)
	}
	return nil
}

// listsAll reports whether lists with an effect have the value of an attribute. If the value is a
// range, a listed range must have all its addresses.
func (d *Domain) listsAll(a Attribute, effect int32) bool {
	p, isRange := canonicalRange(a.Value)
	first := a.Value
	if isRange {
		first = p.Addr().String()
	}
	e, g := Entry{Key: []byte(a.Key), Value: []byte(first)}, given{number: unnamed}
	if d.give(&g, &e); g.number == unnamed || d.listed(&e, &g)&effect == 0 {
		return false
	}
	at := d.attributes.all[g.number].ranges
	if !isRange || at < 0 {
		return !isRange
	}
	all := d.lists.ranges[at].deny
	if effect == listAllows {
		all = d.lists.ranges[at].allow
	}
	return slices.ContainsFunc(all, func(r addressRange) bool {
		return r.from.Compare(p.Addr()) <= 0 && r.to.Compare(lastAddress(p)) >= 0
	})
}

// reachPath returns the number of limits that an override without a rule replaces.
func (d *Domain) reachPath(v *Override) (limits int, err error) {
	var replaced []*Limit
	for _, a := range v.Path {
		if !d.tree.names(a.Key) {
			return 0, fmt.Errorf("LIMIT needs RULE name, because %s is an attribute of rules and of no descriptors; the rules "+
				"of %s are %s", word.Excerpt([]byte(a.Key)), d.Name, word.Some(d.ruleNames()))
		}
	}
	w := work{d: d}
	var entries []Entry
	for _, a := range v.Path {
		entries = append(entries, Entry{Key: []byte(a.Key), Value: []byte(a.Value)})
	}
	w.give(&Request{Descriptors: []Descriptor{{Entries: entries}}})
	if at := w.walk(&attributeSet{entries: entries, givens: w.givens}); at != 0 {
		replaced = d.tree.nodes[at].limits
	}
	return len(replaced), d.checkWeights(v, replaced)
}

// reachRule returns the number of limits of a rule that an override replaces.
func (d *Domain) reachRule(v *Override) (limits int, err error) {
	rule := d.ruleOf(v.Rule)
	if rule == nil {
		return 0, fmt.Errorf("RULE: a rule of %s, or RULE/LIMIT, got %s%s", d.Name, word.Excerpt([]byte(v.Rule)),
			word.Meant(v.Rule, d.ruleNames()))
	}
	names := []string{}
	for _, all := range rule.byTier() {
		var replaced []*Limit
		for _, l := range all {
			if v.Rule == rule.rule.Name || v.Rule == l.Name {
				replaced = append(replaced, l)
			}
			if !slices.Contains(names, l.Name) {
				names = append(names, l.Name)
			}
		}
		limits += len(replaced)
		if err == nil {
			err = d.checkWeights(v, replaced)
		}
	}
	if limits == 0 {
		return 0, fmt.Errorf("RULE: a limit of rule %s, got %s%s", rule.rule.Name, word.Excerpt([]byte(v.Rule)),
			word.Meant(v.Rule, names))
	}
	given := make([]string, 0, len(v.Path))
	for _, a := range v.Path {
		given = append(given, a.Key)
	}
	counts := slices.Clone(rule.per)
	slices.Sort(given)
	if slices.Sort(counts); !slices.Equal(given, counts) {
		return 0, fmt.Errorf("attributes with RULE: those by which rule %s counts, %s, got %s", rule.rule.Name,
			word.Some(counts), word.Some(given))
	}
	return limits, err
}

// checkWeights returns an error if an override has weights for amounts that no limit of the domain
// weighs. It also returns an error if an override without weights replaces limits with different
// weights, or with and without hits: 1.
func (d *Domain) checkWeights(v *Override, replaced []*Limit) error {
	for _, w := range v.limit.weights {
		if !d.weighs([]byte(w.Name)) {
			return fmt.Errorf("weights: amounts that a limit of %s weighs, got %s%s", d.Name, w.Name,
				word.Meant(w.Name, d.amounts))
		}
	}
	if len(v.limit.weights) > 0 || v.limit.requests || v.limit.unlimited || v.limit.None {
		return nil
	}
	for _, l := range replaced {
		if l.requests != replaced[0].requests {
			return fmt.Errorf("LIMIT must have hits 1 or weights, or replace one limit, because only one of %s and %s has "+
				"hits: 1", replaced[0].Name, l.Name)
		}
		if !slices.Equal(l.weights, replaced[0].weights) {
			return fmt.Errorf("LIMIT must have weights or replace one limit, because the weights of %s and %s differ",
				replaced[0].Name, l.Name)
		}
	}
	return nil
}

func (d *Domain) ruleNames() (names []string) {
	for i := range d.flat.rules {
		names = append(names, d.flat.rules[i].rule.Name)
	}
	return names
}

// names reports whether the document names an attribute.
func (d *Domain) names(key string) bool {
	return slices.Contains(d.keys(), key) || d.tree.names(key)
}

// keys returns the attributes that the document names, without patterns.
func (d *Domain) keys() (keys []string) {
	for i := range d.attributes.all {
		keys = append(keys, d.attributes.all[i].key)
	}
	for i := range d.HTTP {
		keys = append(keys, d.HTTP[i].Key)
	}
	for i := range d.tree.table.slots {
		if s := &d.tree.table.slots[i]; s.to != 0 {
			keys = append(keys, s.key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// names reports whether a node has an attribute.
func (t *tree) names(key string) bool {
	for i := range t.table.slots {
		if s := &t.table.slots[i]; s.to != 0 && s.key == key {
			return true
		}
	}
	for i := range t.nodes {
		for j := range t.nodes[i].wildcards {
			if w := &t.nodes[i].wildcards[j]; w.literalKey == key || w.literalKey == "" && w.key.matches([]byte(key)) {
				return true
			}
		}
	}
	return false
}
