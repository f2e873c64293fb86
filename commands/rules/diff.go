package rules

import (
	"reflect"
	"slices"

	"limitsrv/internal/pace"
)

// A ChangeKind is the kind of a change.
type ChangeKind uint8

const (
	Added ChangeKind = iota + 1
	Changed
	Removed
)

// String returns the word of a kind: added, changed or removed.
func (k ChangeKind) String() string { return [...]string{"", "added", "changed", "removed"}[k] }

// A Change is a limit that differs between two sets.
type Change struct {
	Kind ChangeKind
	// Restarted is set for a changed limit with other counters, so that every one starts
	// full.
	Restarted bool
	Domain    string
	Name      string // of the new limit; of the old limit if it was removed
	old, new  *Limit // nil: no limit
}

// Old returns the old limit and its mode as text, "" without an old limit.
func (c *Change) Old() string { return c.old.describe() }

// New returns the new limit and its mode as text, "" without a new limit.
func (c *Change) New() string { return c.new.describe() }

// A Diff is the difference of two sets.
type Diff struct {
	// Changes are in the order of the new set, the removed limits follow in the order of
	// the old set.
	Changes                            []Change
	Added, Changed, Removed, Restarted int
	// From has for each limit of the new set the Index of the same limit in the old set, or
	// -1: counters of limits continue with it.
	From []int
}

// A limitGroup names the limits that are compared with each other.
type limitGroup struct {
	domain, rule, tier string
	tree               bool
}

func (l *Limit) group() limitGroup {
	return limitGroup{l.Rule.Domain.Name, l.Rule.Name, l.Tier, l.Rule.Tree}
}

// Compare returns the changes from a set to another; from may be nil. Limits are the same if
// their domain, their rule's name or path, their tier and their own name are the same. Of the
// limits that only one set has, the first of both in a rule and tier are the same, and so on.
// Cost: O(limits); least where rules are in the same order in both sets, from the start or to
// the end.
func Compare(from, to *Set) Diff {
	if from == nil {
		from = empty
	}
	c := comparison{d: Diff{From: make([]int, len(to.limits))}, kept: make([]bool, len(from.limits))}
	for i := range c.d.From {
		c.d.From[i] = -1
	}
	c.pairAll(from.limits, to.limits)
	for i, l := range to.limits {
		c.pace.Step()
		var was *Limit
		if at := c.d.From[i]; at >= 0 {
			was = from.limits[at]
		}
		c.d.add(was, l)
	}
	for i, l := range from.limits {
		if !c.kept[i] {
			c.pace.Step()
			c.d.add(l, nil)
		}
	}
	return c.d
}

// empty is a Set without rules.
var empty = new(Set)

// A comparison finds the same limits in two sets.
type comparison struct {
	d    Diff
	kept []bool // by the Index of an old limit: it has a new limit
	pace pace.Pace
}

// pairAll pairs the limits of each group.
func (c *comparison) pairAll(old, all []*Limit) {
	for len(old) > 0 && len(all) > 0 && old[0].group() == all[0].group() { // in the same order
		n, m := firstGroup(old), firstGroup(all)
		c.pair(old[:n], all[:m])
		old, all = old[n:], all[m:]
	}
	for len(old) > 0 && len(all) > 0 && old[len(old)-1].group() == all[len(all)-1].group() {
		n, m := lastGroup(old), lastGroup(all)
		c.pair(old[n:], all[m:])
		old, all = old[:n], all[:m]
	}
	if len(all) == 0 {
		return
	}
	before := map[limitGroup][]*Limit{}
	for len(old) > 0 {
		c.pace.Step()
		n, group := firstGroup(old), old[0].group()
		if others := before[group]; others != nil {
			before[group] = append(others, old[:n]...)
		} else {
			before[group] = old[:n:n]
		}
		old = old[n:]
	}
	for len(all) > 0 {
		m := firstGroup(all)
		c.pair(before[all[0].group()], all[:m])
		all = all[m:]
	}
}

// firstGroup returns the number of limits at the start of a list that are of the same
// group.
func firstGroup(all []*Limit) int {
	group := all[0].group()
	for i, l := range all {
		if l.Rule != all[0].Rule && l.group() != group || l.Tier != group.tier {
			return i
		}
	}
	return len(all)
}

// lastGroup returns the index of the first limit of the group at the end of a list.
func lastGroup(all []*Limit) int {
	last := all[len(all)-1]
	group := last.group()
	for i, l := range slices.Backward(all) {
		if l.Rule != last.Rule && l.group() != group || l.Tier != group.tier {
			return i + 1
		}
	}
	return 0
}

// pair notes the old limit of each new limit of a group.
func (c *comparison) pair(old, all []*Limit) {
	c.pace.Step()
	take := func(l *Limit, is func(*Limit) bool) {
		if c.d.From[l.Index] >= 0 {
			return
		}
		if i := slices.IndexFunc(old, func(o *Limit) bool { return !c.kept[o.Index] && is(o) }); i >= 0 {
			c.d.From[l.Index], c.kept[old[i].Index] = old[i].Index, true
		}
	}
	for _, l := range all {
		take(l, func(o *Limit) bool { return o.Label == l.Label })
	}
	for _, l := range all {
		take(l, func(*Limit) bool { return true })
	}
}

// add adds the change from a limit to another; one of them may be nil.
func (d *Diff) add(was, is *Limit) {
	if was != nil && is != nil && was.Name == is.Name && was.readsAs(is) && sameRule(was.Rule, is.Rule) {
		return
	}
	c := Change{old: was, new: is}
	if was != nil {
		c.Domain, c.Name = was.Rule.Domain.Name, was.Name
	}
	if is != nil {
		c.Domain, c.Name = is.Rule.Domain.Name, is.Name
	}
	switch {
	case was == nil:
		c.Kind = Added
		d.Added++
	case is == nil:
		c.Kind = Removed
		d.Removed++
	default:
		c.Kind = Changed
		d.Changed++
		if c.Restarted = was.suffix != is.suffix || !sameCounters(was.Rule, is.Rule); c.Restarted {
			d.Restarted++
		}
	}
	d.Changes = append(d.Changes, c)
}

// readsAs reports whether two limits have the same description.
func (l *Limit) readsAs(o *Limit) bool {
	return l.unlimited == o.unlimited && l.None == o.None && l.Mode == o.Mode && (l.unlimited || l.None ||
		l.Params.Alg == o.Params.Alg && l.Params.Calendar == o.Params.Calendar && l.Count == o.Count &&
			l.Window == o.Window &&
			l.Quota == o.Quota && l.Grace == o.Grace && l.warnAt == o.warnAt && l.Given == o.Given &&
			l.Events == o.Events && l.requests == o.requests && slices.Equal(l.weights, o.weights))
}

// describe returns the limit with its mode, "" for nil.
func (l *Limit) describe() string {
	switch {
	case l == nil:
		return ""
	case l.Mode == Enforced:
		return l.String()
	}
	return l.String() + " " + l.Mode.String()
}

// sameCounters reports whether two versions of a rule have the same keys, without suffixes.
func sameCounters(a, b *Rule) bool {
	if a.Tree {
		return a.shares == b.shares
	}
	x, y := a.compiled(), b.compiled()
	return slices.Equal(x.per, y.per) && slices.Equal(x.bits, y.bits)
}

// sameRule reports whether two versions of a rule match the same requests, and differ at
// most in their limits.
func sameRule(a, b *Rule) bool {
	if !sameCounters(a, b) || !samePenalty(a, b) || !reflect.DeepEqual(a.Metadata, b.Metadata) {
		return false
	}
	if a.Tree {
		return true
	}
	x, y := a.compiled(), b.compiled()
	return x.tier == y.tier && slices.EqualFunc(x.match, y.match, func(m, n condition) bool {
		return m.key == n.key && slices.Equal(m.literals, n.literals) &&
			slices.EqualFunc(m.patterns, n.patterns, func(p, q pattern) bool { return slices.Equal(p.parts, q.parts) })
	})
}

func samePenalty(a, b *Rule) bool {
	if a.Penalty == nil || b.Penalty == nil {
		return a.Penalty == b.Penalty
	}
	return a.Penalty.Penalty == b.Penalty.Penalty && a.Penalty.Events == b.Penalty.Events
}

// compiled returns the rule over attributes. Requires: it is not of a tree.
func (r *Rule) compiled() *flatRule { return &r.Domain.flat.rules[r.index] }
