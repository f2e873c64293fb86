package rules

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/word"
)

// Spell returns an override with its values in the canonical forms of its domain, and addresses as
// the ranges that its rule counts. It returns an error for a range that its rule can't count. Cost
// with a [Rule]: O(rules of the domain).
func (s *Set) Spell(v Override) (Override, error) {
	d := s.Domain(v.Domain)
	rule := d.ruleOf(v.Rule)
	v.Path = slices.Clone(v.Path)
	for i := range v.Path {
		a := &v.Path[i]
		if !d.IsAddress(a.Key) {
			a.Value = d.canonical(a.Key, a.Value)
			continue
		}
		bits := source.Bits{}
		if rule != nil && rule.bits != nil {
			if at := slices.Index(rule.per, a.Key); at >= 0 {
				bits = rule.bits[at]
			}
		}
		network, ok := canonicalRange(a.Value)
		switch {
		case !ok && isRange(a.Value):
			return v, badAddress(*a)
		case ok && rule != nil:
			if p, ok := groupOf([]byte(network.Addr().String()), bits); !ok || p != network {
				return v, fmt.Errorf("value of %s: an address, or a range of the length by which the rule counts, got %s", a.Key,
					word.Excerpt([]byte(a.Value)))
			}
		}
		if ok {
			a.Value = network.String()
		} else if p, ok := groupOf([]byte(a.Value), bits); ok {
			a.Value = p.String()
		} else {
			a.Value = canonicalAddress(a.Value)
		}
	}
	return v, nil
}

// ruleOf returns the rule with this name, or the rule of a limit with this name, or nil. The domain
// may be nil.
func (d *Domain) ruleOf(name string) *flatRule {
	if d == nil || name == "" {
		return nil
	}
	for i := range d.flat.rules {
		if rest, ok := strings.CutPrefix(name, d.flat.rules[i].rule.Name); ok && (rest == "" || rest[0] == '/') {
			return &d.flat.rules[i]
		}
	}
	return nil
}
