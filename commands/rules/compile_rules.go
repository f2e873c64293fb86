package rules

import (
	"fmt"
	"slices"

	"limitsrv/commands/rules/source"
)

// maxCandidates bounds the rules that a request may have to try because of one attribute.
const maxCandidates = 1024

// flat compiles the rules of a document.
func (c *compiler) flat(all []source.Rule) {
	f := &c.d.flat
	f.rules = make([]flatRule, 0, len(all))
	fresh := make([]Rule, len(all))
	first := make(map[string]int, len(all)) // index in all, by name
	for i := range all {
		c.pace.Step()
		from := &all[i]
		if at, twice := first[from.Name]; twice {
			c.mistake(from.At, fmt.Sprintf("the name of a rule must be unique in its domain, %q is already in %v", from.Name,
				all[at].At))
			continue
		}
		first[from.Name] = i
		c.warnRule(from)
		f.rules = append(f.rules, c.rule(from, &fresh[i]))
	}
	c.set.rules += len(f.rules)
	c.index(all)
}

// rule compiles a rule into a Rule that is empty.
func (c *compiler) rule(from *source.Rule, rule *Rule) flatRule {
	*rule = Rule{Domain: c.d, index: len(c.d.flat.rules), Name: from.Name, Penalty: from.Penalty, Metadata: from.Metadata}
	c.stem = appendEscaped(append(append(c.stem[:0], c.d.stem...), '|'), from.Name)
	r := flatRule{rule: rule, per: from.Per, bits: from.PerBits, sorted: sortedOrder(from.Per), tier: from.Tier,
		tierNumber: unnamed, stem: c.memory.texts.Make(c.stem)}
	r.perNumbers = c.memory.numbers.Make(len(from.Per))[:0]
	for _, key := range from.Per {
		n := c.d.attributes.number(key)
		r.perNumbers, r.needed = append(r.perNumbers, n), r.needed|bitOf(n)
	}
	r.match = c.memory.conditions.Make(len(from.Match))[:0]
	for i := range from.Match {
		n := c.d.attributes.number(from.Match[i].Key)
		r.match, r.needed = append(r.match, c.conditionOf(&from.Match[i], n)), r.needed|bitOf(n)
		c.d.attributes.all[n].decides = true
	}
	if from.Tier != "" {
		r.tierNumber = c.d.attributes.number(from.Tier)
		r.needed |= bitOf(r.tierNumber)
		c.d.attributes.all[r.tierNumber].decides = true
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

// conditionOf compiles a condition. number is the number of its key. The values get the form of the
// key.
func (c *compiler) conditionOf(from *source.Match, number int32) condition {
	to, f := condition{key: from.Key, number: number, literals: from.Values}, c.d.formOf([]byte(from.Key))
	if f == plainForm && !slices.ContainsFunc(from.Values, isPattern) {
		return to
	}
	to.literals = nil
	for _, v := range from.Values {
		switch {
		case isPattern(v):
			to.patterns = append(to.patterns, makePattern(foldedPattern(v, f)))
			continue
		case f == addressForm && isRange(v):
			c.useless(from.At, fmt.Sprintf("match of %s must be addresses, got %q; ranges stand in the cidr of a list", from.Key,
				v))
		}
		to.literals = append(to.literals, c.d.canonical(from.Key, v))
	}
	return to
}

// ruleLimits compiles the limits of a rule or of one of its tiers.
func (c *compiler) ruleLimits(from *source.Rule, rule *Rule, all []source.Limit, tier string) []*Limit {
	limits, fresh := c.memory.lists.Make(len(all))[:0], c.memory.limits.Make(len(all))
	for i := range all {
		l := &fresh[i]
		*l = Limit{Rule: rule, Mode: modeOf(from.Shadow, from.Quota), replaces: c.numbers(from.Replaces), Tier: tier}
		if l.unlimited = all[i].Unlimited; l.unlimited {
			l.at, l.Label = all[i].At, "unlimited"
		} else {
			t := c.textsOf(&all[i])
			l.fill(&all[i], t.label)
			l.suffix = t.ruleSuffix
		}
		c.stem = append(append(append(c.stem[:0], rule.Name...), '/'), l.Label...)
		l.Name = c.memory.texts.Make(c.stem)
		l.names = [2]int32{c.number(rule.Name), c.number(l.Name)}
		if j := slices.IndexFunc(limits, func(o *Limit) bool { return o.Label == l.Label }); j >= 0 {
			c.mistake(l.at, fmt.Sprintf("%v and %v, in line %d, are both named %s: add name NAME to one of them", l, limits[j],
				limits[j].at.Line, l.Label))
		}
		limits = append(limits, l)
		c.addLimit(l)
	}
	return limits
}

// A choice is an attribute that a rule may be found by.
type choice struct {
	key    string
	values []string // nil: by any value
}

// appendChoices appends the attributes that a rule may be found by: attributes with plain
// values, or if there are no plain values, the other attributes that it needs.
func (r *flatRule) appendChoices(all []choice) []choice {
	before := len(all)
	for i := range r.match {
		if m := &r.match[i]; len(m.patterns) == 0 {
			all = append(all, choice{m.key, m.literals})
		}
	}
	if len(all) > before {
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

// each calls add with the places of the index where a rule is found by a choice: a key with a
// value, or with any.
func (o *choice) each(add func(key, value string, any bool)) {
	if o.values == nil {
		add(o.key, "", true)
		return
	}
	for _, v := range o.values {
		add(o.key, v, false)
	}
}

// index fills the index of the rules, unless they are so few that all are tried.
func (c *compiler) index(all []source.Rule) {
	f := &c.d.flat
	if len(f.rules) <= maxTried {
		return
	}
	var (
		places  table    // (0, key, value or any) -> index in shared
		shared  []int32  // rules that could be found at a place
		used    []int32  // places of the choices of all rules, in turn
		choices []choice // of a rule
	)
	places.reserve(len(f.rules))
	for i := range f.rules {
		c.pace.Step()
		choices = f.rules[i].appendChoices(choices[:0])
		for j := range choices {
			choices[j].each(func(key, value string, any bool) {
				place, fresh := places.add(0, key, value, any, int32(len(shared)))
				if fresh {
					shared = append(shared, 0)
				}
				shared[place]++
				used = append(used, place)
			})
		}
	}
	f.table.reserve(len(f.rules))
	single := make([]int32, len(f.rules)) // memory of buckets that have one rule
	for i := range f.rules {
		c.pace.Step()
		choices = f.rules[i].appendChoices(choices[:0])
		var best int
		if best, used = rarest(choices, used, shared); best < 0 {
			if f.always = append(f.always, int32(i)); len(f.always) == maxCandidates+1 {
				c.crowded(f.rules[i].rule, all)
			}
			continue
		}
		choices[best].each(func(key, value string, any bool) {
			at := c.bucket(key, value, any)
			if at == int32(len(f.buckets)) {
				f.buckets = append(f.buckets, single[i:i:i+1])
			}
			if last := len(f.buckets[at]) - 1; last >= 0 && f.buckets[at][last] == int32(i) {
				return // the value is in the list twice
			}
			if f.buckets[at] = append(f.buckets[at], int32(i)); len(f.buckets[at]) == maxCandidates+1 {
				c.crowded(f.rules[i].rule, all)
			}
		})
	}
}

// rarest returns the index of the choice whose fullest place has the fewest rules, or -1 without
// choices. used begins with the places of the choices, and rest is its remainder.
func rarest(choices []choice, used, shared []int32) (best int, rest []int32) {
	best, fewest := -1, int32(0)
	for i := range choices {
		n, most := max(1, len(choices[i].values)), int32(0)
		for _, place := range used[:n] {
			most = max(most, shared[place])
		}
		if used = used[n:]; best < 0 || most < fewest {
			best, fewest = i, most
		}
	}
	return best, used
}

// bucket returns the index in buckets of a key with a value, or with any: the index of the next
// bucket if there is no such bucket yet.
func (c *compiler) bucket(key, value string, any bool) int32 {
	f, a := &c.d.flat, &c.d.attributes
	named, next := &a.all[a.number(key)], int32(len(f.buckets))
	if !any {
		named.found = true
		at, _ := f.table.add(0, key, value, false, next)
		return at
	}
	if named.bucket < 0 {
		named.bucket = next
	}
	return named.bucket
}

// crowded records that a rule is among too many that a request has to try.
func (c *compiler) crowded(rule *Rule, all []source.Rule) {
	i := slices.IndexFunc(all, func(r source.Rule) bool { return r.Name == rule.Name })
	c.mistake(all[i].At, fmt.Sprintf("at most %d rules may be tried for one attribute of a request, this is one more; "+
		"give rules values without * in match that few others have", maxCandidates))
}
