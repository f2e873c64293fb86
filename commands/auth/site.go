package auth

import (
	"net/netip"
	"strings"
)

// SiteOf returns the part of an address, HOST:PORT or HOST, that distinguishes
// unauthenticated clients: the host, for IPv6 its /64 prefix, which a site has to itself.
func SiteOf(from string) string {
	if at, err := netip.ParseAddrPort(from); err == nil {
		from = at.Addr().String()
	}
	addr, err := netip.ParseAddr(from)
	if err != nil {
		host, _, _ := strings.Cut(from, ":")
		return host
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() && !addr.IsLoopback() {
		if site, err := addr.Prefix(64); err == nil {
			return site.String()
		}
	}
	return addr.String()
}
