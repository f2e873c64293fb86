package rules

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/word"
)

// An Explanation tells people if a rule matches a descriptor, and the reason.
type Explanation struct {
	Descriptor int
	Rule       string // or deny, allow, override, request, tree
	Matches    bool
	Reason     string
}

// maxExplanations bounds the answer of Result.Explain.
const maxExplanations = 1000

// Explain returns for each descriptor the lists, overrides, nodes and rules that match it, and
// the rules that don't with the reason: the first 1000, in the order of Match. It allocates,
// and costs O(rules) for each descriptor, until there are so many. Requires: q was the request
// of the last Match of r, which was not released since.
func (r *Result) Explain(q *Request) []Explanation {
	e := explainer{r: r}
	q = r.canonical(q)
	r.work.give(q)
	if r.Domain == nil {
		e.say(0, "domain", false, fmt.Sprintf("there are no rules for domain %q%s", q.Domain,
			word.DidYouMean(q.Domain, r.work.set.domainNames()...)))
	}
	for i := range q.Descriptors {
		e.gates(q, i)
		if r.Descriptors[i] == Allowed || r.Verdict == Denied {
			continue
		}
		e.tree(q, i)
		if r.Domain != nil {
			for j := 0; j < len(r.Domain.flat.rules) && len(e.all) < maxExplanations; j++ {
				e.rule(q, i, &r.Domain.flat.rules[j])
			}
		}
	}
	return e.all
}

type explainer struct {
	r   *Result
	all []Explanation
}

func (e *explainer) say(descriptor int, rule string, matches bool, reason string) {
	if len(e.all) < maxExplanations {
		e.all = append(e.all, Explanation{descriptor, rule, matches, reason})
	}
}

// gates explains the lists and the overrides that allow or deny.
func (e *explainer) gates(q *Request, i int) {
	w := e.r.work
	entries := q.Descriptors[i].Entries
	if w.d != nil {
		s := w.attributes(q, i)
		for j := range s.entries {
			a := &s.entries[j]
			flags := w.d.listed(a, &s.givens[j])
			if flags&listDenies != 0 {
				reason := fmt.Sprintf("%s %s is in a list", a.Key, a.Value)
				if _, ok := ParseAddress(a.Value); !ok && w.d.deniesInvalid(&s.givens[j]) {
					reason = fmt.Sprintf("%s %s is no address, and deny has a list of addresses", a.Key, a.Value)
				}
				e.say(i, "deny", true, reason)
			}
			if flags&listAllows != 0 {
				e.say(i, "allow", true, fmt.Sprintf("%s %s is in a list", a.Key, a.Value))
			}
		}
	}
	if effect := w.gateOverride(entries); effect != 0 {
		e.say(i, "override", true, effect.String())
	}
}

// tree explains the way of a descriptor in the tree.
func (e *explainer) tree(q *Request, i int) {
	w := e.r.work
	d := &q.Descriptors[i]
	if v := w.pathOverride(d.Entries); v != nil {
		e.say(i, "override", true, "LIMIT "+v.Limit+" of exactly this path")
	}
	if w.d == nil || w.d.tree.isEmpty() {
		return
	}
	if d.Limit != nil {
		reason := "it goes before the tree"
		if !w.d.RequestLimits {
			reason = "request_limits is false"
		}
		e.say(i, "request", w.d.RequestLimits, reason)
	}
	s := w.attributes(q, i)
	at := w.walk(&s)
	if at == 0 {
		known := len(w.path)
		reason := fmt.Sprintf("no descriptor has %s %s", d.Entries[known].Key, d.Entries[known].Value)
		if known > 0 {
			reason += " below " + pathOf(d.Entries[:known])
		}
		e.say(i, "tree", false, reason)
		return
	}
	n := &w.d.tree.nodes[at]
	if len(n.limits) == 0 {
		e.say(i, pathOf(d.Entries), true, "the descriptor has no rate_limit")
	}
	for _, l := range n.limits {
		e.say(i, l.Name, true, e.dropped(l)+l.describe())
	}
}

// dropped returns a remark for a limit that another limit replaces.
func (e *explainer) dropped(l *Limit) string {
	if l.unlimited || slices.ContainsFunc(e.r.Limits,
		func(m Met) bool { return m.set == l || m.Override != nil && m.Rule == l.Rule }) {
		return ""
	}
	return "replaced by another limit or met already: "
}

func pathOf(entries []Entry) string {
	parts := make([]string, 0, len(entries))
	for i := range entries {
		parts = append(parts, string(entries[i].Key)+"="+string(entries[i].Value))
	}
	return strings.Join(parts, "/")
}

// rule explains a rule over attributes.
func (e *explainer) rule(q *Request, i int, rule *flatRule) {
	w := e.r.work
	entries := q.Descriptors[i].Entries
	s := w.attributes(q, i)
	places, ok := rule.resolve(&s, nil)
	var limits []*Limit
	if ok {
		limits, ok = rule.limitsFor(entries, places)
	}
	if !ok {
		e.say(i, rule.rule.Name, false, rule.obstacle(entries))
		return
	}
	whole := w.ruleOverride(rule, rule.rule.Name, entries)
	if whole != nil {
		e.say(i, rule.rule.Name, true, "override LIMIT "+whole.Limit)
		return
	}
	for _, l := range limits {
		if v := w.ruleOverride(rule, l.Name, entries); v != nil {
			e.say(i, l.Name, true, "override LIMIT "+v.Limit)
			continue
		}
		e.say(i, l.Name, true, e.dropped(l)+l.describe())
	}
}

// obstacle returns the reason that the rule does not match a descriptor.
func (r *flatRule) obstacle(entries []Entry) string {
	for i := range r.match {
		m := &r.match[i]
		e := find(entries, m.key)
		if e == nil {
			return "match: the request has no " + m.key
		}
		if !m.matches(e.Value) {
			return fmt.Sprintf("match: %s is %s", m.key, e.Value)
		}
	}
	for _, key := range r.per {
		if find(entries, key) == nil {
			return "per: the request has no " + key
		}
	}
	e := find(entries, r.tier)
	if e == nil {
		return "tier: the request has no " + r.tier
	}
	return fmt.Sprintf("tier: %s is %s, and there is no tier default", r.tier, e.Value)
}
