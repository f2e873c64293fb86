package rules

import (
	"fmt"
	"slices"
	"strconv"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// tree compiles the descriptors of a document.
func (c *compiler) tree(all []source.Descriptor) {
	t := &c.d.tree
	n := countNodes(all)
	t.table.reserve(n)
	t.nodes = append(make([]node, 0, 1+n), node{leaf: true})
	c.level(0, all, 0, bits{})
	c.set.rules += len(t.nodes) - 1
}

// countNodes returns the number of descriptors at all levels.
func countNodes(all []source.Descriptor) int {
	n := len(all)
	for i := range all {
		n += countNodes(all[i].Descriptors)
	}
	return n
}

// bits are the flags of the levels of a path.
type bits struct {
	metric uint32 // value_to_metric
	share  uint32 // share_threshold
}

func (b bits) with(d *source.Descriptor, level int) bits {
	if d.ValueToMetric {
		b.metric |= 1 << level
	}
	if d.ShareThreshold {
		b.share |= 1 << level
	}
	return b
}

// level compiles the descriptors below a node; levels is their depth, from 0, and above the
// flags above.
func (c *compiler) level(parent int32, all []source.Descriptor, level int, above bits) {
	t := &c.d.tree
	prefix := len(c.path)
	c.warnLevel(all)
	for i := range all {
		c.pace.Step()
		from := &all[i]
		index := int32(len(t.nodes))
		value := c.nodeValue(from)
		if was, ok := t.table.add(parent, from.Key, value, value == "", index); !ok {
			c.mistake(from.At, fmt.Sprintf("each key and value may be once at a level, %s is already in %s",
				describe(from.Key, from.Value), c.placeOf(all, was, parent, from.File)))
			continue
		}
		t.nodes = append(t.nodes, node{leaf: true})
		t.nodes[parent].leaf = false
		c.levels = append(c.levels[:level], from)
		c.path = append(c.path[:prefix], from.Key...)
		if from.Value != "" {
			c.path = append(append(c.path, '='), from.Value...)
		}
		if isPattern(from.Key) || isPattern(from.Value) {
			c.wildcard(parent, index, from)
		}
		b := above.with(from, level)
		if len(from.Limits) > 0 {
			c.nodeLimits(&t.nodes[index], from, b)
		}
		c.path = append(c.path, '/')
		c.level(index, from.Descriptors, level+1, b)
	}
	c.path, c.levels = c.path[:prefix], c.levels[:level]
}

// placeOf returns the place of the descriptor that became a node below parent, for a mistake in
// a file.
func (c *compiler) placeOf(all []source.Descriptor, index, parent int32, file string) string {
	i := slices.IndexFunc(all, func(d source.Descriptor) bool {
		value := c.nodeValue(&d)
		was, fresh := c.d.tree.table.add(parent, d.Key, value, value == "", index)
		return !fresh && was == index
	})
	if all[i].File != file {
		return all[i].At.String()
	}
	return fmt.Sprintf("line %d", all[i].Line)
}

// nodeValue returns the value of a descriptor in the form of its key.
func (c *compiler) nodeValue(from *source.Descriptor) string {
	if from.Value == "" {
		return ""
	}
	f := c.d.formOf([]byte(from.Key))
	switch {
	case f == plainForm:
		return from.Value
	case isPattern(from.Value):
		return foldedPattern(from.Value, f)
	case f == addressForm && isRange(from.Value):
		c.useless(from.At, fmt.Sprintf("value of %s must be an address, got %q; ranges stand in the cidr of a list", from.Key,
			from.Value))
	}
	return c.d.canonical(from.Key, from.Value)
}

func describe(key, value string) string {
	if value == "" {
		return strconv.Quote(key)
	}
	return fmt.Sprintf("%q with %q", key, value)
}

// wildcard adds a node to the wildcards of its parent.
func (c *compiler) wildcard(parent, index int32, from *source.Descriptor) {
	w := wildcard{node: index, anyValue: from.Value == ""}
	if isPattern(from.Key) {
		w.key = makePattern(from.Key)
	} else {
		w.literalKey = from.Key
	}
	if !w.anyValue {
		w.value = makePattern(c.nodeValue(from))
	}
	nodes := c.d.tree.nodes
	nodes[parent].wildcards = append(nodes[parent].wildcards, w)
	if from.ShareThreshold {
		nodes[index].shared = &shared{from.Key, from.Value}
	}
}

// nodeLimits compiles the limits of a node. c.path is its path.
func (c *compiler) nodeLimits(n *node, from *source.Descriptor, b bits) {
	n.rule = &Rule{Domain: c.d, Name: string(c.path), Tree: true, Penalty: from.Penalty, Metadata: from.Metadata,
		shares: b.share}
	fresh := c.memory.limits.Make(len(from.Limits))
	n.limits = c.memory.lists.Make(len(fresh))[:0]
	for i := range from.Limits {
		l := &fresh[i]
		*l = Limit{
			Rule: n.rule, Name: n.rule.Name, Mode: modeOf(from.Shadow, from.Quota),
			DetailedMetric: from.DetailedMetric, ValueMetric: b.metric,
			names: [2]int32{c.number(from.Limits[i].Name), -1}, replaces: c.numbers(from.Limits[i].Replaces),
		}
		l.labels = labels(c.levels, l.DetailedMetric, l.ValueMetric)
		if l.unlimited = from.Limits[i].Unlimited; l.unlimited {
			l.at, l.Given, l.Label = from.Limits[i].At, from.Limits[i].Name, "unlimited"
		} else {
			t := c.textsOf(&from.Limits[i])
			l.fill(&from.Limits[i], t.label)
			l.suffix = t.treeSuffix + sameBefore(l.Params.Alg, n.limits)
		}
		if len(from.Limits) > 1 {
			l.Name += "/" + l.Label
		}
		n.limits = append(n.limits, l)
		c.addLimit(l)
	}
}

// sameBefore returns the end of the key of a limit of a node if other limits of its
// algorithm go before it; it is empty otherwise.
func sameBefore(alg engine.Alg, before []*Limit) string {
	same := 1
	for _, l := range before {
		if l.Params.Alg == alg {
			same++
		}
	}
	if same == 1 {
		return ""
	}
	return ":" + strconv.Itoa(same)
}
