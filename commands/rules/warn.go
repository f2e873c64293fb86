package rules

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/rules/source"
)

// commandWords are the words of RL.CHECK and similar commands after the attributes.
var commandWords = []string{"AND", "HITS", "ID", "PEEK", "ROWS", "HEADERS", "BY", "ONCE"}

// maxComparisons bounds the comparisons of patterns for warnings, because their number is
// the square of the patterns of a node.
const maxComparisons = 100_000

// warnLevel warns of descriptors of a level that no request reaches, and of keys.
func (c *compiler) warnLevel(all []source.Descriptor) {
	var patterns []*source.Descriptor
	for i := range all {
		c.warnKey(all[i].At, all[i].Key)
		if isPattern(all[i].Value) || isPattern(all[i].Key) {
			patterns = append(patterns, &all[i])
		}
		if all[i].Shadow && all[i].Quota {
			c.warn(all[i].At, "shadow_mode and quota_mode are both set: it is a shadow limit")
		}
	}
	for i, d := range patterns {
		for _, before := range patterns[:i] {
			if c.comparisons++; c.comparisons > maxComparisons {
				return
			}
			if covers(before.Key, d.Key) && (before.Value == "" || d.Value != "" && covers(before.Value, d.Value)) {
				c.warn(d.At, fmt.Sprintf("no request reaches %s, because %s in line %d goes before it and matches as much",
					describe(d.Key, d.Value), describe(before.Key, before.Value), before.Line))
				break
			}
		}
	}
	for i := range all {
		d := &all[i]
		if d.Value != "" {
			continue
		}
		if j := slices.IndexFunc(patterns, func(p *source.Descriptor) bool {
			return p != d && covers(p.Key, d.Key) && strings.Trim(p.Value, "*") == "" && p.Value != ""
		}); j >= 0 {
			c.warn(d.At, fmt.Sprintf("no request reaches %q without a value, because %q in line %d matches every value", d.Key,
				patterns[j].Value, patterns[j].Line))
		}
	}
}

// covers reports whether the pattern wide matches every text that narrow, a pattern or plain
// text, matches. A * of narrow is then within a * of wide, because literal parts have no *.
func covers(wide, narrow string) bool {
	p := makePattern(wide)
	return p.matches([]byte(narrow))
}

// warnKey warns of a key that a command takes for a word of its own.
func (c *compiler) warnKey(at source.At, key string) {
	if slices.ContainsFunc(commandWords, func(word string) bool { return strings.EqualFold(word, key) }) {
		c.warn(at, fmt.Sprintf("%q is a word of RL.CHECK, so that only gRPC and HTTP can ask for this attribute", key))
	}
}

// warnRule warns of parts of a rule without effect.
func (c *compiler) warnRule(from *source.Rule) {
	for i := range from.Match {
		m := &from.Match[i]
		c.warnKey(m.At, m.Key)
		for j, v := range m.Values {
			k := slices.IndexFunc(m.Values, func(o string) bool {
				c.comparisons++
				return o != v && c.comparisons < maxComparisons && isPattern(o) && covers(o, v)
			})
			switch {
			case k >= 0:
				c.warn(m.At, fmt.Sprintf("value %q of %s has no effect, because %q matches as much", v, m.Key, m.Values[k]))
			case slices.Contains(m.Values[:j], v):
				c.warn(m.At, fmt.Sprintf("value %q of %s is there twice", v, m.Key))
			}
		}
	}
	for _, key := range from.Per {
		c.warnKey(from.At, key)
		if address, _, found := strings.Cut(key, "/"); found && c.d.IsAddress(address) {
			c.useless(from.At, fmt.Sprintf("per must be %s, or a range such as %s/64 or %s/24/64, got %q", address, address,
				address, key))
		}
	}
	c.warnIdle(from)
	if from.Tier == "" {
		return
	}
	c.warnTiers(from.Tiers)
	c.warnKey(from.At, from.Tier)
	if !slices.ContainsFunc(from.Tiers, func(t source.Tier) bool { return t.Name == defaultTier }) {
		c.warn(from.At, fmt.Sprintf("rule %q has no tier default, so that requests with any other %s meet none of its limits",
			from.Name, from.Tier))
	}
}

// warnIdle warns of a penalty without effect, because no limit of the rule denies, and of events
// without effect.
func (c *compiler) warnIdle(from *source.Rule) {
	denies, idle := false, false
	note := func(all []source.Limit) {
		for i := range all {
			denies = denies || !all[i].Unlimited && !from.Shadow
			idle = idle || all[i].Events && (all[i].Count == 0 || from.Shadow)
		}
	}
	note(from.Limits)
	for i := range from.Tiers {
		note(from.Tiers[i].Limits)
	}
	if from.Penalty != nil && !denies {
		c.warn(from.Penalty.At, fmt.Sprintf("the penalty of rule %q has no effect, because no limit of the rule denies",
			from.Name))
	}
	if idle {
		c.warn(from.At, fmt.Sprintf("events of rule %q have no effect for limits in shadow and limits of 0", from.Name))
	}
}

// warnEmpty warns of a document without limits.
func (c *compiler) warnEmpty(doc *source.Document) {
	if len(doc.Rules)+len(doc.Descriptors)+len(doc.Deny)+len(doc.Allow) == 0 && !doc.DenyUnmatched {
		c.warn(doc.At, fmt.Sprintf("domain %q has no rules and no descriptors, so only limits that requests bring hold",
			doc.Domain))
	}
}

// warnTiers warns of limits in tiers that share counters and weigh different amounts: an amount that a
// tier does not name counts nothing there.
func (c *compiler) warnTiers(tiers []source.Tier) {
	first := map[string]*source.Limit{} // by the end of the key
	for i := range tiers {
		for j := range tiers[i].Limits {
			l := &tiers[i].Limits[j]
			if l.Unlimited {
				continue
			}
			suffix := c.textsOf(l).ruleSuffix
			before := first[suffix]
			if before == nil {
				first[suffix] = l
			} else if is, was := amountsOf(l), amountsOf(before); is != was {
				c.warn(l.At, fmt.Sprintf("tier %q counts %s, and line %d, which has the same counters, counts %s; a weight of 0 "+
					"says that an amount is free", tiers[i].Name, is, before.Line, was))
			}
		}
	}
}

// amountsOf returns the names of the amounts that a limit counts.
func amountsOf(l *source.Limit) string {
	if len(l.Weights) == 0 {
		return "requests"
	}
	var names []string
	for i := range l.Weights {
		names = append(names, l.Weights[i].Name)
	}
	return strings.Join(names, ", ")
}

// warnFree warns of a limit with weights that all are 0.
func (c *compiler) warnFree(l *Limit) {
	if len(l.weights) > 0 && !slices.ContainsFunc(l.weights, func(w source.Weight) bool { return w.Millionths > 0 }) {
		c.warn(l.at, fmt.Sprintf("limit %q never counts, because all its weights are 0", l.Name))
	}
}

// warnReplaced warns of names in replaces that no limit of the document has.
func (c *compiler) warnReplaced(names []source.Name) {
	for _, n := range names {
		if !c.known[n.Text] {
			c.warn(n.At, fmt.Sprintf("no limit of the domain has the name %q", n.Text))
		}
	}
}
