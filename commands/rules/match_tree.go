package rules

import "limitsrv/engine"

// meetTree collects the limits of the node that a descriptor leads to, or the limit that
// came with the descriptor, or the limit of an override of its path. It reports whether there
// is such a node or limit.
func (r *Result) meetTree(q *Request, i int) (matched bool) {
	w := r.work
	d := &q.Descriptors[i]
	var at int32
	if w.d != nil {
		s := w.attributes(q, i)
		at = w.walk(&s)
	}
	override := w.pathOverride(d.Entries)
	sent := d.Limit != nil && w.d != nil && w.d.RequestLimits
	if at <= 0 && override == nil && !sent {
		return false
	}
	var n *node
	if at > 0 {
		n = &w.d.tree.nodes[at]
		for _, l := range n.limits {
			if !sent {
				r.replaces(l)
			}
		}
	}
	base := r.treeBase(q, d.Entries, !sent && at > 0)
	switch {
	case override != nil:
		r.addOverride(override, n, d.Entries, i, base)
	case sent:
		l := w.sentLimit(d.Limit)
		l.suffix = n.suffixOf(d.Limit.Period)
		m := r.next()
		m.Limit, m.Rule, m.Mode, m.Index, m.Descriptor, m.base, m.set = l, &w.d.request, Enforced, -1, i, base, nil
		r.add()
	default:
		for _, l := range n.limits {
			if l.unlimited {
				r.Descriptors[i] = Unlimited
				continue
			}
			m := r.next()
			m.Limit, m.Rule, m.Mode, m.Index, m.Descriptor, m.base, m.set = l, l.Rule, l.Mode, l.Index, i, base, l
			w.label(m, l.labels, d.Entries)
			r.add()
		}
	}
	return true
}

// suffixOf returns the suffix of the key of the node's limit with fixed windows of a length, or ""
// without such a limit. A limit that comes with a request counts there, so that a path has a
// counter for each unit, as in envoyproxy/ratelimit. n may be nil.
func (n *node) suffixOf(period int64) string {
	if n == nil {
		return ""
	}
	for _, l := range n.limits {
		if l.Params.Alg == engine.Fixed && l.Params.Calendar == engine.NoCalendar && l.Params.Period == period &&
			!l.unlimited {
			return l.suffix
		}
	}
	return ""
}

// addOverride adds the limit of an override in place of the limits of a node, which may be
// nil.
func (r *Result) addOverride(v *Override, n *node, entries []Entry, descriptor int, base span) {
	if v.limit.unlimited {
		r.Descriptors[descriptor] = Unlimited
		return
	}
	m := r.next()
	m.Limit, m.Rule, m.Mode, m.Index, m.Descriptor, m.base, m.Override, m.set = v.limit, v.limit.Rule, Enforced, -1,
		descriptor, base, v, nil
	if n != nil && n.rule != nil {
		l := n.limits[0]
		m.Rule, m.Mode, m.Index, m.set = n.rule, l.Mode, l.Index, l
		r.work.label(m, l.labels, entries)
	}
	r.add()
}

// label sets the label of m.
func (w *work) label(m *Met, parts []labelPart, entries []Entry) {
	start := len(w.keys)
	if w.keys = appendLabel(w.keys, parts, entries); len(w.keys) > start {
		m.Label = w.keys[start:len(w.keys):len(w.keys)]
	}
}

// walk returns the node that attributes lead to: at each level the node with the key and
// the value, else the first wildcard in the order of the file, else the node with the key
// alone. It is 0 if no node matches. The nodes on the way are in w.path.
func (w *work) walk(s *attributeSet) (at int32) {
	w.path = w.path[:0]
	for j := range s.entries {
		if at = w.step(at, &s.entries[j], &s.givens[j]); at <= 0 {
			return 0
		}
		w.path = append(w.path, at)
	}
	return at
}

// step returns the node below a node for an attribute, or 0.
func (w *work) step(at int32, e *Entry, g *given) int32 {
	t := &w.d.tree
	n := &t.nodes[at]
	if n.leaf {
		return 0
	}
	if to, ok := t.table.get(at, e.Key, e.Value, g.key, g.value); ok {
		return to
	}
	for i := range n.wildcards {
		if n.wildcards[i].matches(e) {
			return n.wildcards[i].node
		}
	}
	if to, ok := t.table.getAny(at, e.Key, g.key); ok {
		return to
	}
	return 0
}

// treeBase appends the key of a descriptor's counter, without its suffix. If inTree is set,
// the patterns of nodes with share_threshold in w.path stand for the attributes.
func (r *Result) treeBase(q *Request, entries []Entry, inTree bool) (base span) {
	w := r.work
	base.start = len(w.keys)
	if w.d != nil {
		w.keys = append(w.keys, w.d.stem...)
	} else {
		w.keys = appendEscaped(append(w.keys, KeyPrefix...), q.Domain)
	}
	for j := range entries {
		e := &entries[j]
		var s *shared
		if inTree {
			s = w.d.tree.nodes[w.path[j]].shared
		}
		w.keys = append(w.keys, '|')
		if s == nil {
			w.keys = append(appendEscaped(w.keys, e.Key), '=')
			w.keys = appendValue(w.keys, e.Value)
			continue
		}
		w.keys = append(appendEscaped(w.keys, s.key), '=')
		if s.value == "" {
			w.keys = appendValue(w.keys, e.Value)
		} else {
			w.keys = appendEscaped(w.keys, s.value)
		}
	}
	base.end = len(w.keys)
	return base
}
