package rules

import (
	"bytes"
	"net/netip"
	"strconv"
	"strings"
	"unsafe"

	"limitsrv/commands/rules/source"
)

// maxAddressBytes bounds the text of an address in bytes, including zone, brackets and port.
const maxAddressBytes = 128

// ParseAddress parses an address in any spelling that proxies write. All spellings of an address
// give the same netip.Addr. It ignores spaces and quotation marks around the address, brackets, a
// port after an IPv4 address or after brackets, and a zone. An IPv4 address in an IPv6 address is
// that IPv4 address. Leading zeros of a decimal part are ignored. It does not allocate for a valid
// address.
func ParseAddress(text []byte) (a netip.Addr, ok bool) {
	if tail, ok := parse4(text); ok { // the usual case
		return netip.AddrFrom4(tail), true
	}
	text = bytes.Trim(text, " \t")
	if n := len(text); n >= 2 && text[0] == '"' && text[n-1] == '"' {
		text = text[1 : n-1]
	}
	if len(text) == 0 || len(text) > maxAddressBytes {
		return a, false
	}
	if text, ok = withoutPort(text); !ok {
		return a, false
	}
	if at := bytes.IndexByte(text, '%'); at >= 0 {
		if at == len(text)-1 || bytes.IndexByte(text[:at], ':') < 0 {
			return a, false
		}
		text = text[:at]
	}
	if bytes.IndexByte(text, '.') < 0 {
		return parse6(text)
	}
	colon := bytes.LastIndexByte(text, ':')
	tail, ok := parse4(text[colon+1:])
	if colon < 0 || !ok {
		return netip.AddrFrom4(tail), ok
	}
	if a, ok = parse6(text); ok {
		return a, true
	}
	const digits = "0123456789abcdef" // netip accepts no leading zeros
	long := make([]byte, 0, maxAddressBytes+len("ffff:ffff"))
	long = append(long, text[:colon+1]...)
	for i, c := range tail {
		if long = append(long, digits[c>>4], digits[c&15]); i == 1 {
			long = append(long, ':')
		}
	}
	return parse6(long)
}

// withoutPort removes brackets, and a port after brackets or after an IPv4 address.
func withoutPort(text []byte) (address []byte, ok bool) {
	port := []byte(nil)
	if text[0] == '[' {
		end := bytes.IndexByte(text, ']')
		if end < 0 {
			return nil, false
		}
		if address, port = text[1:end], text[end+1:]; len(port) == 0 {
			return address, true
		}
	} else {
		at := bytes.IndexByte(text, ':')
		if at < 0 || bytes.IndexByte(text[at+1:], ':') >= 0 || bytes.IndexByte(text[:at], '.') < 0 {
			// Without brackets, a port of an IPv6 address would look like part of it.
			return text, true
		}
		address, port = text[:at], text[at:]
	}
	for i, c := range port {
		// RFC 7239, section 6
		isPort := c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '.' || c == '_' || c == '-'
		if isPort != (i > 0) || i == 0 && c != ':' {
			return nil, false
		}
	}
	return address, true
}

// parse4 parses four decimal parts of one to three digits.
func parse4(text []byte) (a [4]byte, ok bool) {
	part, digits, value := 0, 0, 0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
			if value, digits = 10*value+int(c-'0'), digits+1; digits > 3 || value > 255 {
				return a, false
			}
			a[part] = byte(value)
		case c != '.' || digits == 0 || part == 3:
			return a, false
		default:
			part, digits, value = part+1, 0, 0
		}
	}
	return a, part == 3 && digits > 0
}

// parse6 parses an IPv6 address without a zone, as netip accepts it.
func parse6(text []byte) (netip.Addr, bool) {
	for _, c := range text {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') && c != ':' && c != '.' {
			return netip.Addr{}, false
		}
	}
	if len(text) == 0 {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(unsafe.String(&text[0], len(text))) // only an error keeps the string
	return a.Unmap(), err == nil
}

// isPlain4 reports whether text is an IPv4 address in canonical form, which most addresses are.
func isPlain4(text []byte) bool {
	start, parts := 0, 1
	value := 0
	for i, c := range text {
		switch {
		case c >= '0' && c <= '9':
			if value = 10*value + int(c-'0'); value > 255 || i > start && text[start] == '0' {
				return false
			}
		case c != '.' || i == start || parts == 4:
			return false
		default:
			start, parts, value = i+1, parts+1, 0
		}
	}
	return parts == 4 && start < len(text)
}

// canonicalAddress returns the canonical text of an address, or text itself if it is not an
// address.
func canonicalAddress(text string) string {
	if a, ok := ParseAddress([]byte(text)); ok {
		return a.String()
	}
	return text
}

// isRange reports whether text is a range of addresses, in any spelling of its address.
func isRange(text string) bool {
	address, bits, ok := strings.Cut(strings.Trim(text, " \t"), "/")
	if _, isAddress := ParseAddress([]byte(address)); !ok || !isAddress || bits == "" || len(bits) > 3 {
		return false
	}
	for _, c := range bits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// isDefaultAddress reports whether the values of a key are addresses in a domain without the word
// addresses.
func isDefaultAddress(key []byte) bool {
	for _, k := range defaultAddresses {
		if k == string(key) {
			return true
		}
	}
	return false
}

var defaultAddresses = []string{"ip", "client_ip", "remote_ip", "source_ip", "ip_address", "remote_address",
	"remote_addr", "client_address"}

// addressHeaders are the headers that proxies use for addresses, in lower case.
var addressHeaders = map[string]bool{
	"x-forwarded-for": true, "x-original-forwarded-for": true, "forwarded": true, "x-real-ip": true, "x-client-ip": true,
	"x-cluster-client-ip": true,
	"true-client-ip":      true, "cf-connecting-ip": true, "cf-connecting-ipv6": true, "fastly-client-ip": true,
	"fly-client-ip":            true,
	"x-envoy-external-address": true, "x-azure-clientip": true, "x-azure-socketip": true, "x-appengine-user-ip": true,
}

// canonicalRange parses an address range. Its first address may have any spelling, and bits beyond
// the range. An IPv4 range in IPv6 form, such as ::ffff:10.0.0.0/104, becomes that IPv4 range.
func canonicalRange(text string) (netip.Prefix, bool) {
	if !isRange(text) {
		return netip.Prefix{}, false
	}
	address, bits, _ := strings.Cut(strings.Trim(text, " \t"), "/")
	a, _ := ParseAddress([]byte(address))
	n, _ := strconv.Atoi(bits)
	if a.Is4() && strings.Count(address, ":") > 1 { // a single colon precedes a port
		n -= source.MappedBits
	}
	p, err := a.Prefix(n)
	return p, err == nil
}
