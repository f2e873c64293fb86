package rules

import (
	"net/netip"
	"slices"
	"unsafe"
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

// ranges are ranges of addresses of an attribute: sorted, without overlap.
type ranges struct{ deny, allow []addressRange }

type addressRange struct{ from, to netip.Addr }

// has reports whether an address is in sorted ranges.
func has(all []addressRange, a netip.Addr) bool {
	i, exact := slices.BinarySearchFunc(all, a, func(r addressRange, a netip.Addr) int { return r.from.Compare(a) })
	return exact || i > 0 && a.Compare(all[i-1].to) <= 0
}

// listed returns the effects of the lists on an attribute. Cost: a probe, and O(log entries) for
// an address.
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
	a, ok := address(e.Value)
	if !ok {
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

// maxAddressBytes is the length of the longest address: an IPv6 address with an IPv4 address
// in it.
const maxAddressBytes = len("0000:0000:0000:0000:0000:ffff:255.255.255.255")

// address parses an address. An IPv4 address in an IPv6 address is the IPv4 address, and a
// zone is rejected. It does not allocate for an address.
func address(text []byte) (netip.Addr, bool) {
	if len(text) == 0 || len(text) > maxAddressBytes {
		return netip.Addr{}, false
	}
	for _, c := range text {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') && c != '.' && c != ':' {
			return netip.Addr{}, false
		}
	}
	a, err := netip.ParseAddr(unsafe.String(&text[0], len(text))) // only an error keeps the string
	return a.Unmap(), err == nil
}
