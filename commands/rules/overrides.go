package rules

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"limitsrv/engine"
)

// The kinds of an id.
const (
	pathID = 'p'
	ruleID = 'r'
)

// overrideBuckets is the number of parts of Overrides. A change copies one of them.
const overrideBuckets = 1024

// Overrides is an immutable table of overrides; nil is an empty table. Every change makes a
// new table, which shares most parts with the old table, so that Matches read it without a
// lock.
type Overrides struct {
	buckets [overrideBuckets]*overrideBucket // nil: empty
	count   int
	// aliases are the overrides that have an address in a spelling other than the canonical
	// spelling. The key is the id with canonical addresses.
	aliases map[string][]*Override
}

type overrideBucket struct {
	overrides map[string]*Override // by id
	domains   map[string]*domainOverrides
}

// domainOverrides counts the overrides of a domain, so that a Match probes only for paths of
// lengths that exist.
type domainOverrides struct {
	gates  [MaxEntries + 1]int32 // ALLOW and DENY, by the length of the path
	limits [MaxEntries + 1]int32 // LIMIT without a rule
	rules  int32                 // LIMIT of rules
	wide   []*Override           // ALLOW and DENY with a range or a pattern; they are not in gates
	shapes []shape               // of gates with several attributes
	total  int32
}

// appendID appends the bytes that tell overrides apart: the domain, the rule and the path,
// which is sorted for a rule.
func (v *Override) appendID(dst []byte) []byte {
	if v.Rule == "" {
		dst = append(appendSized(dst, v.Domain), pathID)
		for _, a := range v.Path {
			dst = appendSized(appendSized(dst, a.Key), a.Value)
		}
		return dst
	}
	dst = appendSized(append(appendSized(dst, v.Domain), ruleID), v.Rule)
	sorted := slices.Clone(v.Path)
	slices.SortStableFunc(sorted, func(a, b Attribute) int { return strings.Compare(a.Key, b.Key) })
	for _, a := range sorted {
		dst = appendSized(appendSized(dst, a.Key), a.Value)
	}
	return dst
}

// appendSized appends a part of an id: its length and its bytes.
func appendSized[T []byte | string](dst []byte, part T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(part))), part...)
}

func bucketOf[T []byte | string](id T) uint64 {
	return maphash.String(seed, string(id)) % overrideBuckets
}

// Len is the number of overrides, expired overrides included.
func (o *Overrides) Len() int {
	if o == nil {
		return 0
	}
	return o.count
}

// With returns a table with v in addition, in place of an override of the same domain, path
// and rule. Requires: v is from NewOverride. Cost: a few microseconds per 100 000
// overrides; o stays as it is.
func (o *Overrides) With(v *Override) *Overrides { return o.change([]*Override{v}, nil) }

// Without returns a table without the override of v's domain, path and rule, or o itself if
// it has no such override. Requires: v is from NewOverride.
func (o *Overrides) Without(v *Override) *Overrides {
	if was := o.Get(v); was != nil {
		return o.change(nil, []*Override{was})
	}
	return o
}

// WithAll is With for many. Cost: O(len(all)).
func (o *Overrides) WithAll(all []*Override) *Overrides { return o.change(all, nil) }

// Get returns the override of v's domain, path and rule, or nil. Requires: v is from
// NewOverride.
func (o *Overrides) Get(v *Override) *Override {
	if o == nil {
		return nil
	}
	if b := o.buckets[bucketOf(v.id)]; b != nil {
		return b.overrides[v.id]
	}
	return nil
}

// Expire returns a table without the overrides that have ended at now, or o itself if no
// override has. Cost: O(len).
func (o *Overrides) Expire(now engine.Instant) *Overrides {
	var past []*Override
	for _, v := range o.all("") {
		if v.expired(now) {
			past = append(past, v)
		}
	}
	if past == nil {
		return o
	}
	return o.change(nil, past)
}

func (v *Override) expired(now engine.Instant) bool { return v.Until != 0 && now >= v.Until }

// List returns all overrides of a domain, or of all with the name "", sorted by domain,
// path and rule. Cost: O(len * log len).
func (o *Overrides) List(domain string) []*Override {
	all := o.all(domain)
	slices.SortFunc(all, func(a, b *Override) int {
		return cmp.Or(strings.Compare(a.Domain, b.Domain), slices.CompareFunc(a.Path, b.Path, func(x, y Attribute) int {
			return cmp.Or(strings.Compare(x.Key, y.Key), strings.Compare(x.Value, y.Value))
		}), strings.Compare(a.Rule, b.Rule))
	})
	return all
}

// all returns the overrides of a domain, or of all, in no order.
func (o *Overrides) all(domain string) (all []*Override) {
	if o == nil {
		return nil
	}
	for _, b := range o.buckets {
		if b == nil {
			continue
		}
		for _, v := range b.overrides {
			if domain == "" || v.Domain == domain {
				all = append(all, v)
			}
		}
	}
	return all
}

// change returns a table with the overrides in add and without the overrides in remove.
// Requires: o has the overrides in remove.
func (o *Overrides) change(add, remove []*Override) *Overrides {
	next := new(Overrides)
	if o != nil {
		*next = *o
	}
	own := make(map[uint64]bool, 2) // buckets that next shares with no other table
	bucket := func(at uint64) *overrideBucket {
		b := next.buckets[at]
		switch {
		case b == nil:
			b = &overrideBucket{overrides: map[string]*Override{}, domains: map[string]*domainOverrides{}}
		case own[at]:
			return b
		default:
			b = &overrideBucket{overrides: maps.Clone(b.overrides), domains: maps.Clone(b.domains)}
		}
		next.buckets[at], own[at] = b, true
		return b
	}
	count := func(v *Override, by int32) {
		b := bucket(bucketOf(v.Domain))
		d := domainOverrides{}
		if was := b.domains[v.Domain]; was != nil {
			d = *was
		}
		d.count(v, by)
		next.count += int(by)
		if b.domains[v.Domain] = &d; d.total == 0 {
			delete(b.domains, v.Domain)
		}
	}
	for _, v := range remove {
		delete(bucket(bucketOf(v.id)).overrides, v.id)
		count(v, -1)
	}
	for _, v := range add {
		b := bucket(bucketOf(v.id))
		if was := b.overrides[v.id]; was != nil {
			count(was, -1)
		}
		b.overrides[v.id] = v
		count(v, 1)
	}
	next.changeAliases(add, remove)
	return next
}

func (d *domainOverrides) count(v *Override, by int32) {
	switch {
	case v.wide != nil:
		d.wide = changeWide(d.wide, v, by)
	case v.Effect != Replace:
		if d.gates[len(v.Path)] += by; len(v.Path) > 1 {
			d.shapes = changeShapes(d.shapes, v, by)
		}
	case v.Rule == "":
		d.limits[len(v.Path)] += by
	default:
		d.rules += by
	}
	d.total += by
}

// domain returns the counts of a domain, or nil without overrides.
func (o *Overrides) domain(name []byte) *domainOverrides {
	if o == nil {
		return nil
	}
	b := o.buckets[maphash.Bytes(seed, name)%overrideBuckets]
	if b == nil {
		return nil
	}
	return b.domains[string(name)]
}

// get returns the override with an id of canonical values, or nil. The domain d may be nil.
func (o *Overrides) get(id []byte, d *Domain, now engine.Instant) *Override {
	if b := o.buckets[maphash.Bytes(seed, id)%overrideBuckets]; b != nil {
		if v := b.overrides[string(id)]; v != nil && !v.expired(now) {
			return v
		}
	}
	if len(o.aliases) == 0 {
		return nil
	}
	return o.alias(id, d, now)
}

// alias is get for overrides in aliases. If there are several, it returns the first that denies, or
// else the first, in the order of their ids.
func (o *Overrides) alias(id []byte, d *Domain, now engine.Instant) (first *Override) {
	for _, v := range o.aliases[string(id)] {
		if v.expired(now) || !v.spellsAddresses(d) {
			continue
		}
		if v.Effect == Deny {
			return v
		}
		if first == nil {
			first = v
		}
	}
	return first
}

// spellsAddresses reports whether all values in other spellings belong to address keys of the
// domain.
func (v *Override) spellsAddresses(d *Domain) bool {
	for _, a := range v.Path {
		if canonicalAddress(a.Value) != a.Value && !d.IsAddress(a.Key) {
			return false
		}
	}
	return true
}

// aliasID returns the id with canonical addresses, or "" if all addresses are canonical.
func (v *Override) aliasID() string {
	other := *v
	other.Path = slices.Clone(v.Path)
	for i := range other.Path {
		other.Path[i].Value = canonicalAddress(other.Path[i].Value)
	}
	if slices.Equal(other.Path, v.Path) {
		return ""
	}
	return string(other.appendID(nil))
}

// changeAliases removes overrides from the aliases, and adds other overrides.
func (o *Overrides) changeAliases(add, remove []*Override) {
	own := false
	for i, all := range [][]*Override{remove, add} {
		for _, v := range all {
			if v.alias == "" {
				continue
			}
			if !own {
				if o.aliases, own = maps.Clone(o.aliases), true; o.aliases == nil {
					o.aliases = map[string][]*Override{}
				}
			}
			same := slices.DeleteFunc(slices.Clone(o.aliases[v.alias]), func(w *Override) bool { return w.id == v.id })
			if i == 1 {
				same = append(same, v)
				slices.SortFunc(same, func(a, b *Override) int { return strings.Compare(a.id, b.id) })
			}
			if o.aliases[v.alias] = same; len(same) == 0 {
				delete(o.aliases, v.alias)
			}
		}
	}
}
