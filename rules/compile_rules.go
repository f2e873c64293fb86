package rules

import (
	"fmt"
	"slices"

	"limitsrv/rules/source"
)

// maxCandidates bounds the rules that a request may have to try because of one attribute.
const maxCandidates = 1024

// flat compiles the rules of a document.
func (c *compiler) flat(all []source.Rule) {
	f := &c.d.flat
	f.rules = make([]flatRule, 0, len(all))
	places := make(map[string]source.At, len(all))
	for i := range all {
		from := &all[i]
		if at, twice := places[from.Name]; twice {
			c.mistake(from.At, fmt.Sprintf("the name of a rule must be unique in its domain, %q is already in %v", from.Name, at))
			continue
		}
		places[from.Name] = from.At
		c.warnRule(from)
		f.rules = append(f.rules, c.rule(from))
	}
	c.set.rules += len(f.rules)
	c.index(all)
}

// rule compiles a rule.
func (c *compiler) rule(from *source.Rule) flatRule {
	r := flatRule{
		rule: &Rule{Domain: c.d, index: len(c.d.flat.rules), Name: from.Name, Penalty: from.Penalty, Metadata: from.Metadata},
		per:  from.Per, sorted: sortedOrder(from.Per), tier: from.Tier,
		stem: c.d.stem + "|" + string(appendEscaped(nil, from.Name)),
	}
	for _, m := range from.Match {
		to := condition{key: m.Key}
		for _, v := range m.Values {
			if isPattern(v) {
				to.patterns = append(to.patterns, makePattern(v))
			} else {
				to.literals = append(to.literals, v)
			}
		}
		r.match = append(r.match, to)
	}
	for _, name := range from.Replaces {
		if name.Text == from.Name {
			c.mistake(name.At, fmt.Sprintf("replaces must name other rules, got the rule's own name %q", from.Name))
		}
	}
	if from.Tier == "" {
		r.limits = c.ruleLimits(from, r.rule, from.Limits, "")
		return r
	}
	r.tiers = make(map[string][]*Limit, len(from.Tiers))
	for _, t := range from.Tiers {
		if t.Same == "" {
			r.tiers[t.Name] = c.ruleLimits(from, r.rule, t.Limits, t.Name)
		}
	}
	for _, t := range from.Tiers {
		if t.Same != "" {
			r.tiers[t.Name] = r.tiers[t.Same]
		}
	}
	r.other = r.tiers[defaultTier]
	return r
}

// ruleLimits compiles the limits of a rule or of one of its tiers.
func (c *compiler) ruleLimits(from *source.Rule, rule *Rule, all []source.Limit, tier string) []*Limit {
	limits := make([]*Limit, 0, len(all))
	for i := range all {
		l := &Limit{Rule: rule, Mode: modeOf(from.Shadow, from.Quota), replaces: c.numbers(from.Replaces), Tier: tier}
		if l.unlimited = all[i].Unlimited; l.unlimited {
			l.at, l.Label = all[i].At, "unlimited"
		} else {
			l.fill(&all[i])
			l.suffix = ruleSuffix(l)
		}
		l.Name = rule.Name + "/" + l.Label
		l.names = [2]int32{c.number(rule.Name), c.number(l.Name)}
		if j := slices.IndexFunc(limits, func(o *Limit) bool { return o.Label == l.Label }); j >= 0 {
			c.mistake(l.at, fmt.Sprintf("the name of a limit must be unique in its rule, %q is already in line %d", l.Label, limits[j].at.Line))
		}
		limits = append(limits, l)
		c.addLimit(l)
	}
	return limits
}

// ruleSuffix returns the suffix of the keys of a limit of a rule.
func ruleSuffix(l *Limit) string {
	return string(appendEscaped([]byte("#"+l.Params.Alg.String()+":"), l.Label))
}

// A choice is an attribute that a rule may be found by.
type choice struct {
	key    string
	values []string // nil: by any value
}

// choices returns the attributes that a rule may be found by: those with plain values, or if
// there are none, the others that it needs.
func (r *flatRule) choices() (all []choice) {
	for i := range r.match {
		if m := &r.match[i]; len(m.patterns) == 0 {
			all = append(all, choice{m.key, m.literals})
		}
	}
	if len(all) > 0 {
		return all
	}
	for i := range r.match {
		all = append(all, choice{key: r.match[i].key})
	}
	if r.tier != "" {
		all = append(all, choice{key: r.tier})
	}
	for _, key := range r.per {
		all = append(all, choice{key: key})
	}
	return all
}

// index fills the index of the rules.
func (c *compiler) index(all []source.Rule) {
	type place struct {
		key, value string
		any        bool
	}
	f := &c.d.flat
	shared := make(map[place]int, len(f.rules)) // rules that could be found there
	places := func(o choice) []place {
		if o.values == nil {
			return []place{{key: o.key, any: true}}
		}
		list := make([]place, 0, len(o.values))
		for _, v := range o.values {
			list = append(list, place{key: o.key, value: v})
		}
		return list
	}
	for i := range f.rules {
		for _, o := range f.rules[i].choices() {
			for _, p := range places(o) {
				shared[p]++
			}
		}
	}
	for i := range f.rules {
		var best []place
		worst := 0 // the most rules at a place of best
		for _, o := range f.rules[i].choices() {
			list, most := places(o), 0
			for _, p := range list {
				most = max(most, shared[p])
			}
			if best == nil || most < worst {
				best, worst = list, most
			}
		}
		if best == nil {
			if f.always = append(f.always, int32(i)); len(f.always) == maxCandidates+1 {
				c.crowded(f.rules[i].rule, all)
			}
		}
		for _, p := range best {
			at, fresh := f.table.add(0, p.key, p.value, p.any, int32(len(f.buckets)))
			if fresh {
				f.buckets = append(f.buckets, nil)
			}
			if last := len(f.buckets[at]) - 1; last >= 0 && f.buckets[at][last] == int32(i) {
				continue // the value is in the list twice
			}
			if f.buckets[at] = append(f.buckets[at], int32(i)); len(f.buckets[at]) == maxCandidates+1 {
				c.crowded(f.rules[i].rule, all)
			}
		}
	}
}

// crowded records that a rule is one of too many that a request has to try.
func (c *compiler) crowded(rule *Rule, all []source.Rule) {
	i := slices.IndexFunc(all, func(r source.Rule) bool { return r.Name == rule.Name })
	c.mistake(all[i].At, fmt.Sprintf("at most %d rules may be tried for one attribute of a request, this is one more; give rules values without * in match that few others have", maxCandidates))
}
