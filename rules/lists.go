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

// Nodes of the table.
const (
	listedValues int32 = iota
	listedRanges
)

// lists are the lists in deny and allow of a domain.
type lists struct {
	// table has for a value its effects, and for a key with any value the index in ranges.
	table  table
	ranges []ranges
}

// ranges are ranges of addresses of an attribute: sorted, without overlap.
type ranges struct{ deny, allow []addressRange }

type addressRange struct{ from, to netip.Addr }

// has reports whether an address is in sorted ranges.
func has(all []addressRange, a netip.Addr) bool {
	i, exact := slices.BinarySearchFunc(all, a, func(r addressRange, a netip.Addr) int { return r.from.Compare(a) })
	return exact || i > 0 && a.Compare(all[i-1].to) <= 0
}

// effects returns the effects of the lists on an attribute. Cost: two probes, and
// O(log entries) for an address.
func (l *lists) effects(e *Entry, keyHash, valueHash uint64) (flags int32) {
	if l.table.slots == nil {
		return 0
	}
	flags, _ = l.table.get(listedValues, e.Key, e.Value, keyHash, valueHash)
	at, ok := l.table.getAny(listedRanges, e.Key, keyHash)
	if !ok {
		return flags
	}
	a, ok := address(e.Value)
	if !ok {
		return flags
	}
	if has(l.ranges[at].deny, a) {
		flags |= listDenies
	}
	if has(l.ranges[at].allow, a) {
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
