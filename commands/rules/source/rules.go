package source

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"limitsrv/internal/yamlfile"
)

var ruleWords = []string{"name", "match", "per", "tier", "limits", "penalty", "shadow", "quota", "replaces", "metadata"}

// ruleList reads rules.
func (r *reader) ruleList(n *yaml.Node) (all []Rule) {
	number, items := r.each(n, "rules")
	all = make([]Rule, 0, number)
	for item := range items {
		r.pace.Step()
		if item = r.follow(item); item == nil || !r.oneMore(item) {
			return nil
		}
		if rule, ok := r.rule(item); ok {
			all = append(all, rule)
		}
	}
	return all
}

func (r *reader) rule(n *yaml.Node) (rule Rule, ok bool) {
	fields, mark, ok := r.words(n, "a rule")
	defer r.release(mark)
	if !ok {
		return rule, false
	}
	before := len(r.mistakes)
	rule.At = r.at(n)
	var limits *yaml.Node
	for _, f := range fields {
		switch f.word {
		case "name":
			rule.Name, _ = r.label(f.value, f.word)
			rule.At = r.at(f.key)
		case "match":
			rule.Match = r.match(f.value)
		case "per":
			r.per(f.value, &rule)
		case "tier":
			rule.Tier, _ = r.label(f.value, f.word)
		case "limits":
			limits = f.value
		case "penalty":
			rule.Penalty = r.penalty(f.value)
		case "shadow":
			rule.Shadow = r.boolean(f.value, f.word)
		case "quota":
			rule.Quota = r.boolean(f.value, f.word)
		case "replaces":
			rule.Replaces = r.labels(f.value, f.word)
		case "metadata":
			rule.Metadata = r.metadata(f.value)
		default:
			r.unknown(f, "a rule", ruleWords)
		}
	}
	if rule.Name == "" && len(r.mistakes) == before {
		r.mistake(n, fmt.Sprintf("a rule must have a name of 1 to %d bytes, got none", MaxNameBytes))
	}
	if rule.Shadow && rule.Quota {
		r.mistake(n, "a rule may have shadow or quota, got both")
	}
	r.ruleLimits(&rule, n, limits)
	return rule, len(r.mistakes) == before
}

// atMost records that a word has too many entries.
func (r *reader) atMost(n *yaml.Node, name string, given, most int) {
	if given > most {
		r.mistake(n, fmt.Sprintf("%s may have %d entries, got %d", name, most, given))
	}
}

// match reads the conditions of a rule.
func (r *reader) match(n *yaml.Node) (all []Match) {
	if yamlfile.IsNull(n) {
		return nil
	}
	fields, mark, ok := r.words(n, "match")
	defer r.release(mark)
	if !ok {
		return nil
	}
	r.atMost(n, "match", len(fields), MaxAttributes)
	all = r.memory.matches.Make(len(fields))[:0]
	for _, f := range fields {
		m := Match{At: r.at(f.key), Key: f.word}
		r.label(f.key, "the name of an attribute")
		items := []*yaml.Node{f.value}
		if f.value.Kind == yaml.SequenceNode {
			items = f.value.Content
		}
		r.atMost(f.value, "match of "+f.word, len(items), MaxValues)
		m.Values = r.memory.texts.Make(len(items))[:0]
		for _, item := range items {
			if item = r.follow(item); item == nil {
				return nil
			}
			if text, ok := r.value(item, "a value"); ok {
				m.Values = append(m.Values, text)
			}
		}
		if len(items) == 0 {
			r.bad(f.value, "match of "+f.word, "a value or a list of at least one")
		}
		all = append(all, m)
	}
	return all
}

// ruleLimits reads the limits of a rule: a list, or with a tier a list for each tier.
func (r *reader) ruleLimits(rule *Rule, at, n *yaml.Node) {
	switch {
	case n == nil:
		r.mistake(at, "a rule must have limits, got none")
	case rule.Tier == "" && n.Kind == yaml.MappingNode && !r.isLimit(n):
		r.bad(n, "limits", "a list of limits, or of a rule with a tier a mapping of tiers to limits")
	case rule.Tier == "":
		rule.Limits = r.limits(n)
	default:
		rule.Tiers = r.tiers(n)
	}
}

// isLimit reports whether a mapping is a limit and not a mapping of tiers.
func (r *reader) isLimit(n *yaml.Node) bool {
	return slices.ContainsFunc(n.Content, func(c *yaml.Node) bool { return slices.Contains(limitWords, c.Value) })
}

// limits reads a limit or several limits; unlimited stands alone.
func (r *reader) limits(n *yaml.Node) (all []Limit) {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	if len(items) == 0 || len(items) > MaxLimits {
		r.mistake(n, fmt.Sprintf("limits must have 1 to %d entries, got %d", MaxLimits, len(items)))
		return nil
	}
	all = r.memory.limits.Make(len(items))[:0]
	for _, item := range items {
		if item = r.follow(item); item == nil {
			return nil
		}
		l, ok := r.limit(item)
		switch {
		case !ok:
		case l.Unlimited && len(items) > 1:
			r.mistake(item, fmt.Sprintf("unlimited must be the only limit, got it as one of %d", len(items)))
		default:
			all = append(all, l)
		}
	}
	return all
}

// tiers reads the limits of each tier.
func (r *reader) tiers(n *yaml.Node) (all []Tier) {
	fields, mark, ok := r.words(n, "limits of a rule with a tier")
	defer r.release(mark)
	if !ok {
		return nil
	}
	if len(fields) == 0 || len(fields) > MaxTiers {
		r.mistake(n, fmt.Sprintf("limits must have 1 to %d tiers, got %d", MaxTiers, len(fields)))
		return nil
	}
	for _, f := range fields {
		t := Tier{At: r.at(f.key), Name: f.word}
		if len(t.Name) > MaxValueBytes {
			r.bad(f.key, "a tier", fmt.Sprintf("at most %d bytes long", MaxValueBytes))
		}
		if other := f.value; other.Kind == yaml.ScalarNode && !looksLikeLimit(other.Value) {
			if t.Same, ok = r.sized(other, "a tier", MaxValueBytes); ok && r.find(t.Same, mark) < 0 {
				r.mistake(other, fmt.Sprintf("a tier must be limits or the name of another tier of the rule, got %q", t.Same))
			}
		} else {
			t.Limits = r.limits(other)
		}
		all = append(all, t)
	}
	for _, t := range all {
		if i := slices.IndexFunc(all, func(o Tier) bool { return o.Name == t.Same && t.Same != "" }); i >= 0 &&
			all[i].Same != "" {
			r.mistakeAt(t.Line, fmt.Sprintf("a tier may only name a tier with limits, got %q, which names %q", t.Same,
				all[i].Same))
		}
	}
	return all
}

// looksLikeLimit reports whether text is a limit and not the name of a tier.
func looksLikeLimit(text string) bool {
	return text == "unlimited" || text == "none" || strings.Contains(text, "/") || strings.HasPrefix(text, "none ") ||
		strings.Contains(text, " at once ")
}
