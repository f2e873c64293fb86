package rules

import (
	"fmt"
	"slices"
	"strings"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/word"
	"limitsrv/engine"
)

const (
	// Allow lets everything below the path pass, without limits.
	Allow Effect = iota + 1
	// Deny denies everything below the path.
	Deny
	// Replace replaces the limits of exactly the path, or the limits of a rule.
	Replace
)

// An Effect is the effect of an override.
type Effect uint8

// String returns the word of a command: ALLOW, DENY or LIMIT.
func (e Effect) String() string { return [...]string{"", "ALLOW", "DENY", "LIMIT"}[e] }

// An Override changes the limits of a path: of a customer, an address. It is immutable.
type Override struct {
	Domain string
	// Path are attributes in the order of a descriptor; an empty Path is the whole domain. With a
	// Rule they are its per attributes, in any order. In a domain with rules, an Allow or a Deny
	// holds for every descriptor with the attributes, in any order. A value of an Allow or a Deny
	// may be a range of addresses, or a pattern with *.
	Path   []Attribute
	Effect Effect
	// Rule is the name of the rule, or RULE/LIMIT for one of its limits; only with Replace.
	// "" is the limit of exactly the path.
	Rule string
	// Limit is the text of the limit of a Replace: 100/minute.
	Limit string
	// Until is the instant when it ends; 0: it never ends.
	Until engine.Instant
	// Note is for people, up to MaxNoteBytes.
	Note string

	limit *Limit
	wide  []wideValue // nil if all values are plain
	id    string
	alias string // see aliasID
}

// An Attribute is a key and a value.
type Attribute struct{ Key, Value string }

// MaxNoteBytes bounds the note of an override.
const MaxNoteBytes = 1024

// NewOverride checks an override, and prepares it for Overrides.With. An error names the
// allowed and the given value. The override is for every Set: it may exist before its
// domain does. It holds no reference to v.Path.
func NewOverride(v Override) (*Override, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	v.Path = slices.Clone(v.Path)
	if v.Effect == Replace {
		from, err := source.ParseLimit(v.Limit)
		if err != nil {
			return nil, err
		}
		v.limit = v.makeLimit(&from)
	}
	v.wide = v.widen()
	v.id, v.alias = string(v.appendID(nil)), v.aliasID()
	return &v, nil
}

func (v *Override) check() error {
	if n := len(v.Domain); n == 0 || n > MaxDomainBytes {
		return fmt.Errorf("domain: 1 to %d bytes, got %s", MaxDomainBytes, word.Excerpt([]byte(v.Domain)))
	}
	if len(v.Path) > MaxEntries {
		return fmt.Errorf("attributes of an override: 0 to %d, got %d", MaxEntries, len(v.Path))
	}
	for _, a := range v.Path {
		if n := len(a.Key); n == 0 || n > MaxKeyBytes {
			return fmt.Errorf("key of an attribute: 1 to %d bytes, got %s", MaxKeyBytes, word.Excerpt([]byte(a.Key)))
		}
		if len(a.Value) > MaxValueBytes {
			return fmt.Errorf("value of %s: at most %d bytes, got %s", word.Excerpt([]byte(a.Key)), MaxValueBytes,
				word.Excerpt([]byte(a.Value)))
		}
	}
	switch {
	case len(v.Rule) > 2*source.MaxNameBytes+1:
		return fmt.Errorf("RULE: at most %d bytes, got %s", 2*source.MaxNameBytes+1, word.Excerpt([]byte(v.Rule)))
	case len(v.Note) > MaxNoteBytes:
		return fmt.Errorf("NOTE: at most %d bytes, got %d", MaxNoteBytes, len(v.Note))
	case v.Effect != Replace && v.Rule != "":
		return fmt.Errorf("RULE is for LIMIT, got it with %v", v.Effect)
	case v.Effect == Replace && v.Rule == "" && len(v.Path) == 0:
		return fmt.Errorf("LIMIT needs at least one attribute or RULE, got none")
	}
	return nil
}

// makeLimit makes the limit of a Replace.
func (v *Override) makeLimit(from *source.Limit) *Limit {
	l := &Limit{Index: -1, names: [2]int32{-1, -1}, unlimited: from.Unlimited}
	l.Rule = &Rule{Domain: &Domain{Name: v.Domain}, Name: "override", Tree: true}
	if l.unlimited {
		return l
	}
	l.fill(from, label(from))
	l.suffix = "#" + l.Params.Alg.String()
	if l.Name = v.path(); v.Rule != "" {
		l.Name = v.Rule + "/" + l.Label
	}
	return l
}

// path returns the path in the form of names of nodes.
func (v *Override) path() string {
	var b strings.Builder
	for i, a := range v.Path {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(a.Key + "=" + a.Value)
	}
	return b.String()
}
