package rules

import (
	"fmt"
	"slices"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/word"
)

// warnShadowed warns of rules and lists of a document that never decide. Requires: the domain is
// compiled without mistakes.
func (c *compiler) warnShadowed(doc *source.Document) {
	for i := range doc.Allow {
		c.warnAllowed(doc, doc.Allow[i].Text)
	}
	if len(doc.Lists) > 0 {
		c.warnListKeys(doc)
	}
	for j := range doc.Rules {
		b := &doc.Rules[j]
		c.warnListed(&c.d.flat.rules[j], b)
		for i := range doc.Rules {
			a := &doc.Rules[i]
			if c.comparisons++; c.comparisons > maxComparisons {
				return
			}
			if i == j || !matchesAll(a, b) {
				continue
			}
			if names(a.Replaces, b.Name) {
				c.warn(b.At, fmt.Sprintf("rule %q never counts, because rule %q in line %d replaces it and matches whenever it "+
					"does", b.Name, a.Name, a.Line))
				break
			}
			if isLooser(a, b) && (i < j || !isLooser(b, a) || !matchesAll(b, a)) {
				c.warn(b.At, fmt.Sprintf("rule %q never denies, because rule %q in line %d matches whenever it does, counts by "+
					"the same attributes, and allows no more", b.Name, a.Name, a.Line))
				break
			}
		}
	}
}

// warnListed warns of a rule if lists deny or allow all its requests.
func (c *compiler) warnListed(rule *flatRule, from *source.Rule) {
	for i := range rule.match {
		m := &rule.match[i]
		if len(m.patterns) == 0 && c.allListed(m.key, m.literals, listDenies|listAllows) {
			c.warn(from.At, fmt.Sprintf("rule %q never counts, because lists in deny or allow have all its values of %s",
				rule.rule.Name, m.key))
			return
		}
	}
}

// warnAllowed warns of a list in allow if all its values are in deny too.
func (c *compiler) warnAllowed(doc *source.Document, name string) {
	for i := range doc.Lists {
		if l := &doc.Lists[i]; l.Name == name && len(l.Prefixes) == 0 && c.allListed(l.Key, l.Values, listDenies) {
			c.warn(l.At, fmt.Sprintf("list %q has no effect in allow, because lists in deny have all its values, and deny "+
				"goes first", l.Name))
		}
	}
}

// warnListKeys warns of a list with a mistyped key: only lists have the key, and another key of the
// document is much like it.
func (c *compiler) warnListKeys(doc *source.Document) {
	used := map[string]bool{}
	for i := range doc.Rules {
		c.pace.Step()
		r := &doc.Rules[i]
		for j := range r.Match {
			used[r.Match[j].Key] = true
		}
		for _, key := range append([]string{r.Tier}, r.Per...) {
			used[key] = true
		}
	}
	for i := range doc.HTTP {
		used[doc.HTTP[i].Key] = true
	}
	others := slices.DeleteFunc(c.d.keys(), func(key string) bool { return !used[key] && !c.d.tree.names(key) })
	for i := range doc.Lists {
		l := &doc.Lists[i]
		if used[l.Key] || c.d.tree.names(l.Key) {
			continue
		}
		if nearest := word.DidYouMean([]byte(l.Key), others...); nearest != "" {
			c.warn(l.At, fmt.Sprintf("list %q is of %s, which no rule names%s", l.Name, l.Key, nearest))
		}
	}
}

// allListed reports whether lists have all of some values with one of the effects.
func (c *compiler) allListed(key string, values []string, effects int32) bool {
	for _, v := range values {
		if c.comparisons++; c.comparisons > maxComparisons {
			return false
		}
		e := Entry{Key: []byte(key), Value: []byte(c.d.canonical(key, v))}
		g := given{number: unnamed}
		if c.d.give(&g, &e); c.d.listed(&e, &g)&effects == 0 {
			return false
		}
	}
	return len(values) > 0
}

func names(all []source.Name, name string) bool {
	return slices.ContainsFunc(all, func(n source.Name) bool { return n.Text == name })
}

// matchesAll reports whether rule a, which has no tiers, matches every request that rule b matches.
func matchesAll(a, b *source.Rule) bool {
	if a.Tier != "" {
		return false
	}
	for i := range a.Match {
		wide := &a.Match[i]
		k := slices.IndexFunc(b.Match, func(m source.Match) bool { return m.Key == wide.Key })
		if k < 0 || slices.ContainsFunc(b.Match[k].Values, func(v string) bool {
			return !slices.ContainsFunc(wide.Values, func(w string) bool { return covers(w, v) })
		}) {
			return false
		}
	}
	for _, key := range a.Per {
		if !slices.Contains(b.Per, key) && !slices.ContainsFunc(b.Match, func(m source.Match) bool { return m.Key == key }) {
			return false
		}
	}
	return true
}

// isLooser reports whether each limit of b has a limit of a with the same algorithm and window that
// allows no more, so that b, which matches with a, never denies what a does not.
func isLooser(a, b *source.Rule) bool {
	if b.Tier != "" || b.Penalty != nil || a.Shadow || a.Quota || b.Shadow || b.Quota || len(a.Replaces)+
		len(b.Replaces) > 0 ||
		!slices.Equal(a.Per, b.Per) || !slices.Equal(a.PerBits, b.PerBits) {
		return false
	}
	for i := range b.Limits {
		loose := &b.Limits[i]
		if loose.Unlimited || !slices.ContainsFunc(a.Limits, func(l source.Limit) bool {
			return !l.Unlimited && l.Alg == loose.Alg && l.Window == loose.Window && l.Calendar == loose.Calendar &&
				l.Count <= loose.Count && l.Burst <= loose.Burst && l.Grace <= loose.Grace &&
				l.Requests == loose.Requests && slices.Equal(l.Weights, loose.Weights)
		}) {
			return false
		}
	}
	return true
}
