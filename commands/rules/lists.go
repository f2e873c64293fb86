package rules

import (
	"net/netip"
	"slices"
)

// The effects of an entry, as flags.
const (
	listDenies int32 = 1 << iota
	listAllows
)

// lists are the lists in deny and allow of a domain.
type lists struct {
	table  table // (0, key, value) -> effects
	ranges []ranges
}

func (l *lists) isEmpty() bool { return l.table.slots == nil && l.ranges == nil }

// ranges are the address ranges for an attribute, sorted and without overlap. denyInvalid means
// that a value that is not an address is denied.
type ranges struct {
	deny, allow []addressRange
	denyInvalid bool
}

type addressRange struct{ from, to netip.Addr }

// has reports whether an address is in sorted ranges.
func has(all []addressRange, a netip.Addr) bool {
	i, exact := slices.BinarySearchFunc(all, a, func(r addressRange, a netip.Addr) int { return r.from.Compare(a) })
	return exact || i > 0 && a.Compare(all[i-1].to) <= 0
}

// listed returns the effects of the lists on an attribute in canonical form. Cost: a hash look-up,
// and O(log entries) for an address.
func (d *Domain) listed(e *Entry, g *given) (flags int32) {
	if g.number < 0 {
		return 0
	}
	named, l := &d.attributes.all[g.number], &d.lists
	if named.listed {
		flags, _ = l.table.get(0, e.Key, e.Value, g.key, g.value)
	}
	if named.ranges < 0 {
		return flags
	}
	a, ok := ParseAddress(e.Value)
	if !ok {
		if d.deniesInvalid(g) {
			flags |= listDenies
		}
		return flags
	}
	if has(l.ranges[named.ranges].deny, a) {
		flags |= listDenies
	}
	if has(l.ranges[named.ranges].allow, a) {
		flags |= listAllows
	}
	return flags
}

// deniesInvalid reports whether the lists deny values of this key that are not addresses.
func (d *Domain) deniesInvalid(g *given) bool {
	if g.number < 0 {
		return false
	}
	at := d.attributes.all[g.number].ranges
	return at >= 0 && d.lists.ranges[at].denyInvalid
}
