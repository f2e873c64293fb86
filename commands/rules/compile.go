package rules

import (
	"slices"

	"limitsrv/commands/rules/slab"
	"limitsrv/commands/rules/source"
	"limitsrv/internal/pace"
)

// Load reads files and compiles them together. The error is a source.Mistakes.
func Load(files []source.File) (*Set, error) {
	docs, err := source.Parse(files)
	if err != nil {
		return nil, err
	}
	return Compile(docs)
}

// Compile makes a Set of documents. The error is a source.Mistakes.
func Compile(docs []source.Document) (*Set, error) { return compile(docs, false) }

// LoadInUse is Load for rules that an earlier version of limitsrv may have accepted. Useless parts,
// which Load rejects, are only warnings.
func LoadInUse(files []source.File) (*Set, error) {
	docs, err := source.Parse(files)
	if err != nil {
		return nil, err
	}
	return compile(docs, true)
}

func compile(docs []source.Document, inUse bool) (*Set, error) {
	c := compiler{inUse: inUse, set: &Set{domains: make(map[string]*Domain, len(docs))}, texts: map[textKey]limitTexts{}}
	merged := c.merged(docs)
	for i := range merged {
		c.domain(&merged[i])
	}
	if len(c.mistakes) > 0 {
		return nil, c.mistakes
	}
	return c.set, nil
}

// A compiler makes a Set.
type compiler struct {
	set      *Set
	inUse    bool // see useless
	mistakes source.Mistakes
	d        *Domain
	names    map[string]int32     // of the domain, those that replaces lists
	path     []byte               // of the node being compiled
	stem     []byte               // scratch of stems and names
	levels   []*source.Descriptor // of the path
	known    map[string]bool      // of names, the names that a limit has
	replaces []source.Name        // all entries of replaces of the domain
	weighed  map[string]bool      // the amounts of the domain

	texts       map[textKey]limitTexts
	comparisons int // of patterns, for warnings
	memory      memory
	pace        pace.Pace
}

// A memory allocates the parts of a Set.
type memory struct {
	limits     slab.Slices[Limit]
	lists      slab.Slices[*Limit]
	conditions slab.Slices[condition]
	numbers    slab.Slices[int32]
	texts      slab.Texts
}

func (c *compiler) mistake(at source.At, text string) {
	if len(c.mistakes) < source.MaxMistakes {
		c.mistakes = append(c.mistakes, source.Mistake{At: at, Text: text})
	}
}

// maxWarnings bounds the warnings of a Set.
const maxWarnings = 1000

func (c *compiler) warn(at source.At, text string) {
	if len(c.set.warnings) < maxWarnings {
		c.set.warnings = append(c.set.warnings, source.Mistake{At: at, Text: text})
	}
}

// domain compiles a document.
func (c *compiler) domain(doc *source.Document) {
	d := &Domain{
		Name: doc.Domain, Index: len(c.set.order), NoQuorum: noQuorumOf(doc.NoQuorum), DenyUnmatched: doc.DenyUnmatched,
		RequestLimits: !doc.IgnoreRequestLimits, HTTP: doc.HTTP,
		stem: KeyPrefix + string(appendEscaped(nil, doc.Domain)), id: lastDomain.Add(1),
	}
	d.request = Rule{Domain: d, Name: "request", Tree: true, Sent: true}
	c.d, c.names, c.known, c.replaces = d, map[string]int32{}, map[string]bool{}, nil
	c.weighed = map[string]bool{}
	c.forms(doc)
	c.replacedNames(doc)
	d.replaced = len(c.names)
	c.lists(doc)
	c.tree(doc.Descriptors)
	c.flat(doc.Rules)
	slices.Sort(d.amounts)
	d.direct = d.lists.isEmpty() && d.tree.isEmpty() && len(d.flat.rules) > 0
	c.warnReplaced(c.replaces)
	if len(c.mistakes) == 0 {
		c.warnShadowed(doc)
		c.warnEmpty(doc)
	}
	c.set.domains[d.Name] = d
	c.set.order = append(c.set.order, d)
}

// replacedNames numbers the names that any limit of the document replaces.
func (c *compiler) replacedNames(doc *source.Document) {
	number := func(names []source.Name) {
		c.replaces = append(c.replaces, names...)
		for _, n := range names {
			if _, known := c.names[n.Text]; !known {
				c.names[n.Text] = int32(len(c.names))
			}
		}
	}
	var walk func([]source.Descriptor)
	walk = func(all []source.Descriptor) {
		for i := range all {
			for j := range all[i].Limits {
				number(all[i].Limits[j].Replaces)
			}
			walk(all[i].Descriptors)
		}
	}
	walk(doc.Descriptors)
	for i := range doc.Rules {
		number(doc.Rules[i].Replaces)
	}
}

// number returns the number of a name that a limit may be replaced by, or -1.
func (c *compiler) number(name string) int32 {
	if n, ok := c.names[name]; ok && name != "" {
		c.known[name] = true
		return n
	}
	return -1
}

// numbers returns the numbers of the names in replaces.
func (c *compiler) numbers(names []source.Name) (all []int32) {
	for _, n := range names {
		all = append(all, c.names[n.Text])
	}
	return all
}

// addLimit numbers a limit of the set.
func (c *compiler) addLimit(l *Limit) {
	l.Index = len(c.set.limits)
	c.set.limits = append(c.set.limits, l)
	c.warnFree(l)
	for i := range l.weights {
		if name := l.weights[i].Name; !c.weighed[name] {
			c.weighed[name] = true
			c.d.amounts = append(c.d.amounts, name)
		}
	}
}

// modeOf returns the mode of limits: shadow goes before quota.
func modeOf(shadow, quota bool) Mode {
	switch {
	case shadow:
		return Shadow
	case quota:
		return Quota
	}
	return Enforced
}
