package rules

import (
	"slices"
	"strings"

	"limitsrv/commands/rules/source"
)

// forms sets the forms of the keys of a document.
func (c *compiler) forms(doc *source.Document) {
	d := c.d
	set := func(key string, f form) {
		if !slices.ContainsFunc(d.forms, func(k keyForm) bool { return k.key == key }) {
			d.forms, d.formLengths = append(d.forms, keyForm{key, f}), d.formLengths|lengthBit(len(key))
		}
	}
	for _, p := range doc.Paths {
		set(p.Key, form(p.Form))
	}
	for _, name := range doc.Addresses {
		c.addressKey(name.At, name.Text, set)
	}
	for i := range doc.Lists {
		if len(doc.Lists[i].Prefixes) > 0 {
			c.addressKey(doc.Lists[i].At, doc.Lists[i].Key, set)
		}
	}
	for i := range doc.Rules {
		for j, bits := range doc.Rules[i].PerBits {
			if bits != (source.Bits{}) {
				c.addressKey(doc.Rules[i].At, doc.Rules[i].Per[j], set)
			}
		}
	}
	if !doc.OwnAddresses {
		d.addDefaultAddresses()
		for i := range doc.HTTP {
			if h := &doc.HTTP[i]; addressHeaders[strings.ToLower(h.Header)] {
				set(h.Key, addressForm)
			}
		}
	}
}

// addressKey sets the form of a key to addresses.
func (c *compiler) addressKey(at source.At, key string, set func(string, form)) {
	if f := c.d.formOf([]byte(key)); f != plainForm && f != addressForm {
		c.useless(at, "values of "+key+" must be addresses, got it in paths too")
	}
	set(key, addressForm)
}

// useless records a mistake that makes a part of the rules useless. For rules that are in use
// already it is only a warning, because an upgrade must not stop them.
func (c *compiler) useless(at source.At, text string) {
	if c.inUse {
		c.warn(at, text)
		return
	}
	c.mistake(at, text)
}

// foldedPattern returns a pattern for values of form f. It is in lower case if these values are.
func foldedPattern(text string, f form) string {
	if f == addressForm || f != plainForm && source.PathForm(f)&source.PathCase != 0 {
		return strings.Map(func(c rune) rune {
			if c >= 'A' && c <= 'Z' {
				return c | 0x20
			}
			return c
		}, text)
	}
	return text
}
