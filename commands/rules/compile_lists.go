package rules

import (
	"fmt"
	"net/netip"
	"slices"

	"limitsrv/commands/rules/source"
	"limitsrv/commands/word"
)

// lists compiles the lists of a document.
func (c *compiler) lists(doc *source.Document) {
	used := make(map[string]bool, len(doc.Lists))
	for _, use := range []struct {
		names  []source.Name
		effect int32
	}{{doc.Deny, listDenies}, {doc.Allow, listAllows}} {
		for _, name := range use.names {
			i := slices.IndexFunc(doc.Lists, func(l source.List) bool { return l.Name == name.Text })
			if i < 0 {
				c.mistake(name.At, fmt.Sprintf("deny and allow must name lists of the document, got %q%s", name.Text,
					word.Meant(name.Text, listNames(doc.Lists))))
				continue
			}
			used[name.Text] = true
			c.list(&doc.Lists[i], use.effect)
		}
	}
	for i := range c.d.lists.ranges {
		r := &c.d.lists.ranges[i]
		r.deny, r.allow = merged(r.deny), merged(r.allow)
	}
	for _, l := range doc.Lists {
		switch {
		case !used[l.Name]:
			c.warn(l.At, fmt.Sprintf("list %q is neither in deny nor in allow, so it has no effect", l.Name))
		case len(l.Values)+len(l.Prefixes) == 0:
			c.warn(l.At, fmt.Sprintf("list %q has neither values nor cidr, so it has no effect", l.Name))
		}
	}
}

func listNames(all []source.List) (names []string) {
	for _, l := range all {
		names = append(names, l.Name)
	}
	return names
}

func (c *compiler) list(l *source.List, effect int32) {
	t := &c.d.lists
	named := &c.d.attributes.all[c.d.attributes.number(l.Key)]
	isAddress := c.d.IsAddress(l.Key)
	for _, v := range l.Values {
		switch {
		case isAddress && (isRange(v) || isPattern(v)):
			c.useless(l.At, fmt.Sprintf("values of list %q must be addresses, because %s is an address; got %q, and ranges "+
				"stand in cidr", l.Name, l.Key, v))
		case isPattern(v):
			c.warn(l.At, fmt.Sprintf("value %q of list %q matches no other text than itself: only match has patterns with *", v,
				l.Name))
		}
		named.listed = true
		t.table.setFlags(0, l.Key, c.d.canonical(l.Key, v), effect)
	}
	if len(l.Prefixes) == 0 {
		return
	}
	if named.ranges < 0 {
		named.ranges = int32(len(t.ranges))
		t.ranges = append(t.ranges, ranges{})
	}
	at := &t.ranges[named.ranges]
	to := &at.allow
	if effect == listDenies {
		to, at.denyInvalid = &at.deny, at.denyInvalid || !l.IgnoresInvalid
	}
	for _, p := range l.Prefixes {
		*to = append(*to, addressRange{p.Addr(), lastAddress(p)})
	}
}

// setFlags adds flags to the number of a value.
func (t *table) setFlags(node int32, key, value string, flags int32) {
	if was, fresh := t.add(node, key, value, false, flags); !fresh && was|flags != was {
		t.replace(node, key, value, was|flags)
	}
}

// lastAddress returns the last address of a range.
func lastAddress(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < 8*len(bytes); bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// merged sorts ranges, and joins those that overlap.
func merged(all []addressRange) []addressRange {
	slices.SortFunc(all, func(a, b addressRange) int { return a.from.Compare(b.from) })
	kept := all[:0]
	for _, r := range all {
		if last := len(kept) - 1; last >= 0 && r.from.Compare(kept[last].to) <= 0 {
			if r.to.Compare(kept[last].to) > 0 {
				kept[last].to = r.to
			}
			continue
		}
		kept = append(kept, r)
	}
	return kept
}
