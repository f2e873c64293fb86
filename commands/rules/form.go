package rules

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"

	"limitsrv/commands/rules/source"
)

// A form is the canonical form of the values of a key.
type form uint8

const (
	plainForm   form = 0
	addressForm form = 1 << 7
	// Greater forms are paths: flags of source.PathForm.
)

// A keyForm is a key with the form of its values.
type keyForm struct {
	key  string
	form form
}

// formOf returns the form of the values of a key. d may be nil: a domain without rules has the
// default forms.
func (d *Domain) formOf(key []byte) form {
	if d == nil {
		d = noDomain
	}
	if d.formLengths&lengthBit(len(key)) == 0 {
		return plainForm
	}
	for i := range d.forms {
		if d.forms[i].key == string(key) {
			return d.forms[i].form
		}
	}
	if d.defaultAddresses && isDefaultAddress(key) {
		return addressForm
	}
	return plainForm
}

// noDomain has the default forms, for domains without rules.
var noDomain = func() *Domain {
	d := new(Domain)
	d.addDefaultAddresses()
	return d
}()

// addDefaultAddresses sets the keys of isDefaultAddress to addresses.
func (d *Domain) addDefaultAddresses() {
	d.defaultAddresses = true
	for _, key := range defaultAddresses {
		d.formLengths |= lengthBit(len(key))
	}
}

// lengthBit returns the bit of a length in Domain.formLengths. All lengths from 63 on share a
// bit.
func lengthBit(n int) uint64 { return 1 << min(n, 63) }

// IsAddress reports whether the values of a key are addresses.
func (d *Domain) IsAddress(key string) bool { return d.formOf([]byte(key)) == addressForm }

// URIPath returns the path of a URI that is the value of key: in the form plain, together with the
// form that the word paths sets for the key. The result is short although the URI may be long, so that
// a client can not move the end of its path beyond the bound of values. The matching of a request may
// apply the form again, and changes nothing.
func (d *Domain) URIPath(key, uri string) string {
	f := source.PathForm(d.formOf([]byte(key)) &^ addressForm)
	return matchable(string(appendPath(nil, uri, f|source.PathPlain)), f)
}

// matchable returns the text of a canonical path that is the same path after the matching of a request
// has applied form f: the form plain removes a query and escapes.
func matchable(path string, f source.PathForm) string {
	if f&source.PathPlain == 0 {
		return path
	}
	return uriEscapes.Replace(path)
}

var uriEscapes = strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23")

// Cut returns the beginning of a text, of at most n bytes. An escape such as %2F stays whole.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	text = text[:n]
	if at := strings.LastIndexByte(text, '%'); at >= 0 && at > n-3 {
		text = text[:at]
	}
	return text
}

// Shorten returns a value of at most MaxValueBytes for a longer value of a key. It has the beginning of
// the value, or of the path that the word paths makes of it, and a hash of all of it, so that
// different values count separately. d may be nil.
func (d *Domain) Shorten(key, value []byte) []byte {
	text := string(value)
	if f := d.formOf(key); f != plainForm && f != addressForm {
		text = matchable(string(appendPath(nil, text, source.PathForm(f))), source.PathForm(f))
	}
	if len(text) > MaxValueBytes {
		hash := fmt.Sprintf("~%x", sha256.Sum256([]byte(text)))
		text = Cut(text, MaxValueBytes-len(hash)) + hash
	}
	return []byte(text)
}

// canonical returns the canonical text of a value of this key.
func (d *Domain) canonical(key, value string) string {
	switch f := d.formOf([]byte(key)); f {
	case plainForm:
		return value
	case addressForm:
		return canonicalAddress(value)
	default:
		return string(appendPath(nil, value, source.PathForm(f)))
	}
}

// A canon holds those descriptors of a request that had to be changed to canonical form.
type canon struct {
	request     Request
	descriptors []Descriptor
	entries     []Entry
	texts       []byte
	bad         int // number of addresses that can't be parsed
}

func (n *canon) reset() { n.entries, n.texts, n.bad = n.entries[:0], n.texts[:0], 0 }

// of returns q with its values in the canonical forms of domain d, which may be nil. It returns q
// itself if all values are canonical. The result is valid until the next call. Requires: the sizes
// of q were checked.
func (n *canon) of(d *Domain, q *Request) *Request {
	n.reset()
	if d == nil {
		d = noDomain
	}
	to := q
	for i := range q.Descriptors {
		entries := q.Descriptors[i].Entries
		all := entries
		for j := range entries {
			if d.formLengths&lengthBit(len(entries[j].Key)) == 0 {
				continue
			}
			if f := d.formOf(entries[j].Key); f != plainForm {
				all = n.set(entries, all, j, f)
			}
		}
		if len(all) > 0 && &all[0] != &entries[0] {
			if to == q {
				n.descriptors = append(n.descriptors[:0], q.Descriptors...)
				n.request = *q
				n.request.Descriptors = n.descriptors
				to = &n.request
			}
			n.descriptors[i].Entries = all
		}
	}
	return to
}

// along is of for the entries of a descriptor. places are the entries with forms.
func (n *canon) along(entries []Entry, places []formPlace) []Entry {
	n.reset()
	all := entries
	for _, p := range places {
		all = n.set(entries, all, int(p.place), p.form)
	}
	return all
}

// set sets the value at index j of all to its canonical form. all is either entries or a copy of
// them.
func (n *canon) set(entries, all []Entry, j int, f form) []Entry {
	value := n.value(entries[j].Value, f)
	if len(value) == len(entries[j].Value) && (len(value) == 0 || &value[0] == &entries[j].Value[0]) {
		return all
	}
	if &all[0] == &entries[0] {
		from := len(n.entries)
		n.entries = append(n.entries, entries...)
		all = n.entries[from:len(n.entries):len(n.entries)]
	}
	all[j].Value = value
	return all
}

// value returns the canonical form of a value, or the value itself if it is canonical.
func (n *canon) value(value []byte, f form) []byte {
	from := len(n.texts)
	if f != addressForm {
		n.texts = appendPath(n.texts, string(value), source.PathForm(f))
	} else {
		if isPlain4(value) {
			return value
		}
		a, ok := ParseAddress(value)
		if !ok {
			n.bad++
			return value
		}
		n.texts = a.AppendTo(n.texts)
	}
	text := n.texts[from:len(n.texts):len(n.texts)]
	if string(text) == string(value) {
		return value
	}
	return text
}

// A formPlace is the index of an entry and the form of its key.
type formPlace struct {
	place uint8
	form  form
}

// groupOf returns the address range that contains a value. bits gives the lengths for IPv4 and
// IPv6. ok is false if the value is not an address, or if each address counts alone.
func groupOf(value []byte, bits source.Bits) (p netip.Prefix, ok bool) {
	if bits == (source.Bits{}) {
		return p, false
	}
	a, ok := ParseAddress(value)
	n := int(bits.V6)
	if a.Is4() {
		n = int(bits.V4)
	}
	if !ok || n == 0 || n == a.BitLen() {
		return p, false
	}
	p, err := a.Prefix(n)
	return p, err == nil
}

// appendGroup appends the part of a counter's key for a value: its range or itself. A range needs
// no escape.
func appendGroup(dst, value []byte, bits source.Bits) []byte {
	if p, ok := groupOf(value, bits); ok {
		return p.AppendTo(dst)
	}
	return appendValue(dst, value)
}

// BadAddresses returns the attributes of a request that must be addresses by the domain's rules,
// but can't be parsed. It allocates.
func (d *Domain) BadAddresses(q *Request) (all []Attribute) {
	for i := range q.Descriptors {
		for _, e := range q.Descriptors[i].Entries {
			if _, ok := ParseAddress(e.Value); !ok && d.formOf(e.Key) == addressForm {
				all = append(all, Attribute{string(e.Key), string(e.Value)})
			}
		}
	}
	return all
}
