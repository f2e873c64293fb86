package source

import (
	"fmt"
	"net/netip"

	"go.yaml.in/yaml/v3"

	"limitsrv/internal/yamlfile"
)

// lists reads the lists of a document.
func (r *reader) lists(n *yaml.Node) (all []List) {
	if yamlfile.IsNull(n) {
		return nil
	}
	fields, mark, ok := r.words(n, "lists")
	defer r.release(mark)
	if !ok {
		return nil
	}
	for _, f := range fields {
		l := List{At: r.at(f.key), Name: f.word}
		if _, ok := r.label(f.key, "the name of a list"); ok && r.list(&l, f.value) {
			all = append(all, l)
		}
	}
	return all
}

var listWords = []string{"key", "values", "cidr", "invalid"}

func (r *reader) list(l *List, n *yaml.Node) bool {
	fields, mark, ok := r.words(n, "list "+l.Name)
	defer r.release(mark)
	if !ok {
		return false
	}
	for _, f := range fields {
		switch f.word {
		case "key":
			l.Key, _ = r.label(f.value, "key")
		case "values":
			for _, item := range r.listed(f.value, "values") {
				if text, ok := r.value(item, "a value"); ok {
					l.Values = append(l.Values, text)
				}
			}
		case "cidr":
			for _, item := range r.listed(f.value, "cidr") {
				if p, ok := r.prefix(item); ok {
					l.Prefixes = append(l.Prefixes, p)
				}
			}
		case "invalid":
			l.IgnoresInvalid = r.oneOf(f.value, "invalid", []string{"deny", "ignore"}) == "ignore"
		default:
			r.unknown(f, "a list", listWords)
		}
	}
	if l.Key == "" {
		r.mistake(n, "list "+l.Name+" must have a key, the attribute that it lists, got none")
	}
	return true
}

// listed returns the entries of a list, and counts them.
func (r *reader) listed(n *yaml.Node, name string) []*yaml.Node {
	items := r.items(n, name)
	if r.listedEntries += len(items); r.listedEntries > MaxListed {
		r.mistake(n, fmt.Sprintf("all lists may have %d entries together, with this one they have %d", MaxListed,
			r.listedEntries))
		return nil
	}
	followed := make([]*yaml.Node, 0, len(items))
	for _, item := range items {
		if item = r.follow(item); item == nil {
			return nil
		}
		followed = append(followed, item)
	}
	return followed
}

// MappedBits is the length of the range of all IPv4 addresses in IPv6 addresses, ::ffff:0:0/96.
const MappedBits = 96

// prefix reads an address or an address range. An IPv4 address in an IPv6 address becomes that IPv4
// address.
func (r *reader) prefix(n *yaml.Node) (netip.Prefix, bool) {
	if n.Kind == yaml.ScalarNode {
		if p, err := netip.ParsePrefix(n.Value); err == nil {
			if a := p.Addr(); a.Is4In6() && p.Bits() >= MappedBits {
				p = netip.PrefixFrom(a.Unmap(), p.Bits()-MappedBits)
			}
			if p != p.Masked() {
				r.bad(n, "cidr", "a range of addresses that begins with its first one, such as "+p.Masked().String())
				return p, false
			}
			return p, true
		}
		if a, err := netip.ParseAddr(n.Value); err == nil && a.Zone() == "" {
			a = a.Unmap()
			return netip.PrefixFrom(a, a.BitLen()), true
		}
	}
	r.bad(n, "cidr", "an address or a range such as 192.0.2.0/24 or 2001:db8::/32")
	return netip.Prefix{}, false
}
