package rules

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/rules/source"
	"limitsrv/engine"
)

// spellings are addresses in their canonical form with other spellings of them.
var spellings = map[string][]string{
	"192.0.2.7": {
		" 192.0.2.7", "192.0.2.7\t", "192.0.2.7:80", "192.0.2.7:", "192.0.2.7:_obscure", "[192.0.2.7]", "[192.0.2.7]:80",
		`"192.0.2.7:80"`,
		"::ffff:192.0.2.7", "::FFFF:192.0.2.7", "::ffff:c000:207", "0:0:0:0:0:ffff:192.0.2.7", "[::ffff:192.0.2.7]",
		"[::ffff:192.0.2.7]:443",
		"192.000.002.007", "192.0.2.07:80", "::ffff:192.0.02.7", "::ffff:192.0.2.7%eth0",
	},
	"2001:db8::a": {
		"2001:DB8::A", "2001:db8:0:0:0:0:0:a", "2001:0db8:0000:0000:0000:0000:0000:000a", "[2001:db8::a]",
		"[2001:db8::a]:5123", ` "[2001:db8::a]:5123" `,
		"2001:db8::a%eth0", "[2001:db8::a%25eth0]:80", "2001:db8::0.0.0.10",
	},
}

// noAddresses are texts that are no addresses.
var noAddresses = []string{
	"", " ", "unknown", "_hidden", "192.0.2", "192.0.2.7.1", "192.0.2.256", "192.0.2.0007", "192.0.2.7/24",
	"192.0.2.7:80:90", "192.0.2.7 80", "192.0.2.7:8 0",
	"[2001:db8::a", "[2001:db8::a]80", "2001:db8::a]:80", "[]", "[]:80", "2001:db8::g", "2001:db8::a%", "192.0.2.7%eth0",
	"%eth0", "3221225991", "0xC0000207",
	".0.2.7", "192..2.7", "192.0.2.", "::ffff:192.0.2", `"192.0.2.7`, ":80", "2001:db8:::a", "::192.0.2.7.1",
	"1:2:3:4:5:6:7:192.0.2.7", strings.Repeat("1", 200),
}

func TestParseAddress(t *testing.T) {
	for canonical, others := range spellings {
		for _, text := range append(others, canonical) {
			if a, ok := ParseAddress([]byte(text)); !ok || a.String() != canonical {
				t.Errorf("the address %q is %v, %v, want %s", text, a, ok, canonical)
			}
		}
	}
	for _, text := range noAddresses {
		if a, ok := ParseAddress([]byte(text)); ok {
			t.Errorf("%q is the address %v", text, a)
		}
	}
}

// FuzzAddress: the canonical text of an address is its own canonical text, netip reads the same
// address from it, and a text without spaces that netip reads has the canonical text of netip's address.
func FuzzAddress(f *testing.F) {
	for canonical, others := range spellings {
		for _, text := range append(others, canonical) {
			f.Add(text)
		}
	}
	for _, text := range noAddresses {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, ok := ParseAddress([]byte(text))
		if b, err := netip.ParseAddr(text); err == nil && len(text) <= maxAddressBytes && !strings.ContainsAny(text, " \t") &&
			(!ok || a != b.Unmap().WithZone("")) {
			t.Fatalf("%q is %v, %v, and for netip %v", text, a, ok, b)
		}
		if isPlain4([]byte(text)) && (!ok || a.String() != text) {
			t.Fatalf("%q is plain, and the address %v, %v", text, a, ok)
		}
		if !ok {
			return
		}
		again, ok := ParseAddress([]byte(a.String()))
		if b, err := netip.ParseAddr(a.String()); !ok || again != a || err != nil || b != a || a.Zone() != "" || a.Is4In6() {
			t.Fatalf("%q is %v, then %v, %v", text, a, again, ok)
		}
	})
}

// addressRules compares addresses in each way that rules can.
const addressRules = `
domain: api
http: {peer: X-Real-IP}
addresses: [a]
lists:
  denied: {key: a, cidr: [192.0.2.7, "2001:db8::a"]}
  deniedValues: {key: b, values: ["::ffff:192.0.2.7", "2001:DB8:0::A"]}
  allowed: {key: c, cidr: ["::ffff:192.0.2.0/120", "2001:db8::/64"]}
  listed: {key: a, values: [x]}
deny: [denied, deniedValues]
allow: [allowed]
rules:
  - {name: r, per: [a], limits: 1/m}
`

// A use is a rule set's way to compare the value of an attribute as an address.
type use struct {
	name, text string
	key        string
	more       []Entry
	overrides  []Override
}

func addressUses(value string) []use {
	entry := func(k, v string) Entry { return Entry{[]byte(k), []byte(v)} }
	head := "domain: api\n"
	return []use{
		{name: "a list that denies ranges", key: "x",
			text: head + "lists: {l: {key: x, cidr: ['" + value + "']}}\ndeny: [l]\n"},
		{name: "a list that allows ranges", key: "x", text: head + "lists: {l: {key: x, cidr: ['" + value +
			"']}}\nallow: [l]\nrules: [{name: r, per: [x], limits: 1/m}]\n"},
		{name: "a list that denies values", key: "ip",
			text: head + "lists: {l: {key: ip, values: ['" + value + ":80', '[" + value + "]:80']}}\ndeny: [l]\n"},
		{name: "a list that allows values", key: "ip",
			text: head + "lists: {l: {key: ip, values: ['[" + value + "]']}}\nallow: [l]\n"},
		{name: "a value of match", key: "ip",
			text: head + "rules: [{name: r, match: {ip: '[" + value + "]'}, limits: 1/m}]\n"},
		{name: "a pattern of match", key: "ip",
			text: head + "rules: [{name: r, match: {ip: '" + strings.ToUpper(value[:5]) + "*'}, limits: 1/m}]\n"},
		{name: "per", key: "ip",
			text: head + "rules: [{name: r, per: [ip], limits: 1/m, penalty: {after: 3, within: 10m, block: 1m}}]\n"},
		{name: "per with others", key: "ip", more: []Entry{entry("user", "u")},
			text: head + "rules: [{name: r, match: {user: u}, per: [user, ip], limits: 1/m}]\n"},
		{name: "per of ranges", key: "addr", text: head + "rules: [{name: r, per: [addr/24/64], limits: 1/m}]\n"},
		{name: "many rules", key: "ip", text: head + "rules:\n" + manyMatches("ip", value)},
		{name: "a key of the word addresses", key: "peer",
			text: head + "addresses: [peer]\nrules: [{name: r, per: [peer], limits: 1/m}]\n"},
		{name: "a key of a header", key: "peer",
			text: head + "http: {peer: 'X-Forwarded-For[-1]'}\nrules: [{name: r, per: [peer], limits: 1/m}]\n"},
		{name: "the tree", key: "remote_address",
			text: head + "descriptors: [{key: remote_address, rate_limit: {unit: hour, requests_per_unit: 3}}]\n"},
		{name: "a value of the tree", key: "remote_address", text: head + "descriptors: [{key: remote_address, value: '[" +
			value + "]', detailed_metric: true, rate_limit: {unit: hour, requests_per_unit: 3}}]\n"},
		{
			name: "an override that denies", key: "ip", text: head + "rules: [{name: r, per: [ip], limits: 1/m}]\n",
			overrides: []Override{{Path: []Attribute{{"ip", "[" + value + "]:80"}}, Effect: Deny}},
		},
		{
			name: "an override of a path", key: "ip",
			text:      head + "descriptors: [{key: ip, rate_limit: {unit: hour, requests_per_unit: 3}}]\n",
			overrides: []Override{{Path: []Attribute{{"ip", "[" + value + "]"}}, Effect: Replace, Limit: "7/m"}},
		},
		{
			name: "an override of a rule", key: "ip", text: head + "rules: [{name: r, per: [ip], limits: 1/m}]\n",
			overrides: []Override{{Path: []Attribute{{"ip", "[" + value + "]"}}, Effect: Replace, Limit: "7/m", Rule: "r"}},
		},
		{
			name: "an override without a domain", key: "ip", text: "domain: other\n",
			overrides: []Override{{Path: []Attribute{{"ip", "[" + value + "]"}}, Effect: Deny}},
		},
	}
}

// manyMatches is more rules than are tried in turn; the first is for a value.
func manyMatches(key, value string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - {name: r, match: {%s: '[%s]'}, per: [%s], limits: 1/m}\n", key, value, key)
	for i := range maxTried + 1 {
		fmt.Fprintf(&b, "  - {name: r%d, match: {%s: '198.51.100.%d'}, limits: 1/m}\n", i, key, i)
	}
	return b.String()
}

// TestOneAddress: each use of an address decides, counts and explains all its spellings as its
// canonical form, also along a way that was learned from another spelling. The overrides are there as
// they are written, and as Spell writes them.
func TestOneAddress(t *testing.T) {
	for canonical, others := range spellings {
		for _, u := range addressUses(canonical) {
			set := load(t, u.text)
			for _, spell := range []bool{false, true} {
				overrides := addressOverrides(t, set, u.overrides, spell)
				want, met := addressAnswer(t, set, overrides, u, canonical, new(Result))
				if !met {
					t.Fatalf("%s: %s meets nothing: %s", u.name, canonical, want)
				}
				var r Result
				for range 8 {
					for _, text := range others {
						if got, _ := addressAnswer(t, set, overrides, u, text, &r); got != want {
							t.Fatalf("%s: %q is answered\n%s\nwant as %s\n%s", u.name, text, got, canonical, want)
						}
					}
				}
			}
		}
	}
}

func addressOverrides(t *testing.T, set *Set, all []Override, spell bool) (o *Overrides) {
	for _, v := range all {
		v.Domain = "api"
		var err error
		if spell {
			if v, err = set.Spell(v); err != nil {
				t.Fatal(err)
			}
		}
		made, err := NewOverride(v)
		if err != nil {
			t.Fatal(err)
		}
		if o = o.With(made); o.Without(made).Len() != 0 || len(o.Without(made).aliases) != 0 || spell != (made.alias == "") {
			t.Fatalf("the override %v stays", v.Path)
		}
	}
	return o
}

// addressAnswer matches a value, and describes all that is decided. met is set if a list, an override or
// a rule matched.
func addressAnswer(t *testing.T, set *Set, o *Overrides, u use, value string, r *Result) (text string, met bool) {
	entries := append([]Entry{{[]byte(u.key), []byte(value)}}, u.more...)
	q := &Request{Domain: []byte("api"), Descriptors: []Descriptor{{Entries: entries}}}
	if err := set.Match(q, o, 0, r); err != nil {
		t.Fatal(err)
	}
	if string(entries[0].Value) != value || r.BadAddresses != 0 {
		t.Fatalf("%s: %q became %q, %d bad addresses", u.name, value, entries[0].Value, r.BadAddresses)
	}
	text = describeResult(r)
	for i := range r.Limits {
		text += fmt.Sprintf("\n%s %s", r.Limits[i].Label, r.Limits[i].Limit)
	}
	for i := range r.Guards {
		text += fmt.Sprint("\n", r.Guards[i].Rule.Attributes(q, r.Guards[i].Descriptor))
	}
	return text, r.Verdict == Denied || r.Verdict == Allowed || r.Matched
}

// TestExplainAddress: the explanation of a request shows addresses in their canonical form.
func TestExplainAddress(t *testing.T) {
	set := load(t, addressRules)
	var r Result
	for value, want := range map[string]string{"[192.0.2.7]:80": "a 192.0.2.7 is in a list",
		"unknown": "a unknown is no address, and deny has a list of addresses"} {
		q := &Request{Domain: []byte("api"), Descriptors: []Descriptor{{Entries: []Entry{{[]byte("a"), []byte(value)}}}}}
		if err := set.Match(q, nil, 0, &r); err != nil {
			t.Fatal(err)
		}
		if all := r.Explain(q); len(all) != 1 || all[0].Reason != want {
			t.Errorf("the explanation of %q is %+v, want %q", value, all, want)
		}
	}
}

// TestBadAddress: a value that is no address is denied by a list of ranges in deny, unless the list
// ignores it, is not in a list that allows, counts as it is, and is reported.
func TestBadAddress(t *testing.T) {
	const head = "domain: api\nlists: {l: {key: ip, cidr: [192.0.2.0/24]"
	for _, tt := range []struct {
		text string
		want Verdict
	}{
		{head + "}}\ndeny: [l]\n", Denied},
		{head + ", invalid: deny}}\ndeny: [l]\n", Denied},
		{head + ", invalid: ignore}}\ndeny: [l]\n", Limited},
		{head + "}, m: {key: ip, cidr: ['::1'], invalid: ignore}}\ndeny: [m, l]\n", Denied},
		{head + "}}\nallow: [l]\n", Limited},
		{"domain: api\nlists: {l: {key: ip, values: [192.0.2.7]}}\ndeny: [l]\n", Limited},
		{"domain: api\n", Limited},
	} {
		set := load(t, tt.text+"rules: [{name: r, per: [ip/64], limits: 1/m}]\n")
		for _, value := range append([]string{"192.0.2.7/24"}, noAddresses...) {
			var r Result
			for range 3 {
				q := &Request{Domain: []byte("api"), Descriptors: []Descriptor{{Entries: []Entry{{[]byte("ip"), []byte(value)}}}}}
				if err := set.Match(q, nil, 0, &r); err != nil {
					t.Fatal(err)
				}
				bad := set.Domain("api").BadAddresses(q)
				if r.Verdict != tt.want || r.BadAddresses != 1 || !slices.Equal(bad, []Attribute{{"ip", value}}) {
					t.Fatalf("%q is %v with %d bad addresses %v, want %v\n%s", value, r.Verdict, r.BadAddresses, bad, tt.want, tt.text)
				}
				if key := "rule:api|r|" + modelEscape(value) + "#SLIDE:slide-1m"; r.Verdict == Limited &&
					string(r.Limits[0].Key) != key {
					t.Errorf("the key of %q is %s, want %s", value, r.Limits[0].Key, key)
				}
			}
		}
	}
}

// TestRanges: per with the lengths of ranges counts an IPv6 client by its network.
func TestRanges(t *testing.T) {
	for _, tt := range []struct{ per, value, want string }{
		{"ip/64", "2001:db8:0:1:2:3:4:5", "2001:db8:0:1::/64"},
		{"ip/64", "192.0.2.7", "192.0.2.7"},
		{"ip/64", "::ffff:192.0.2.7", "192.0.2.7"},
		{"ip/24/56", "[2001:db8:0:1ff::5]:80", "2001:db8:0:100::/56"},
		{"ip/24/56", "192.0.2.7:80", "192.0.2.0/24"},
		{"ip/32/128", "192.0.2.7", "192.0.2.7"},
		{"ip/32/128", "2001:db8::a", "2001:db8::a"},
		{"ip/1", "ffff::", "8000::/1"},
		{"ip/64", "unknown", "unknown"},
		{"ip", "2001:db8::a", "2001:db8::a"},
	} {
		set := load(t, "domain: api\nrules: [{name: r, per: ["+tt.per+
			"], limits: 1/m, penalty: {after: 3, within: 10m, block: 1m}}]\n")
		v, err := set.Spell(Override{Domain: "api", Path: []Attribute{{"ip", tt.value}}, Effect: Replace, Limit: "9/m",
			Rule: "r/slide-1m"})
		if err != nil {
			t.Fatal(err)
		}
		made, err := NewOverride(v)
		if err != nil {
			t.Fatal(err)
		}
		var r Result
		for _, o := range []*Overrides{nil, nil, nil, new(Overrides).With(made)} {
			q := &Request{Domain: []byte("api"), Descriptors: []Descriptor{{Entries: []Entry{{[]byte("ip"), []byte(tt.value)}}}}}
			if err := set.Match(q, o, engine.Instant(0), &r); err != nil {
				t.Fatal(err)
			}
			key, attributes := string(r.Limits[0].Key), r.Guards[0].Rule.Attributes(q, 0)
			if key != "rule:api|r|"+tt.want+
				"#SLIDE:slide-1m" || len(attributes) != 1 || attributes[0] != (Attribute{"ip", tt.want}) {
				t.Errorf("%s of %s is %s, %v, want %s", tt.per, tt.value, key, attributes, tt.want)
			}
			if o != nil && r.Limits[0].Override == nil {
				t.Errorf("%s of %s has no override by %v", tt.per, tt.value, v.Path)
			}
		}
	}
}

// TestOverrideRanges: an override of a range matches the addresses in it, in each spelling of the range,
// as it is written and as Spell writes it. A range that has no addresses is a mistake.
func TestOverrideRanges(t *testing.T) {
	set := load(t, "domain: api\nrules: [{name: r, per: [ip], limits: 1/m}]\n")
	for text, want := range map[string]string{
		"192.0.2.0/24": "192.0.2.0/24", "192.0.2.9/24": "192.0.2.0/24", " 192.000.002.000:80/024": "192.0.2.0/24",
		"::ffff:192.0.2.0/120": "192.0.2.0/24", "[::FFFF:c000:209]:80/120": "192.0.2.0/24", "::ffff:0:0/96": "0.0.0.0/0",
		"::ffff:192.0.2.8/128": "192.0.2.8/32", "192.0.2.0/33": "", "192.0.2.0/129": "", "::ffff:192.0.2.0/95": "",
		"::ffff:192.0.2.0/24": "", "::ffff:192.0.2.0/129": "", "2001:db8::/129": "", "2001:db8::5/32": "2001:db8::/32",
	} {
		written := Override{Domain: "api", Path: []Attribute{{"ip", text}}, Effect: Deny}
		spelled, err := set.Spell(written)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "a range such as") {
				t.Errorf("%q is accepted with %v", text, err)
			}
			continue
		}
		if err != nil || spelled.Path[0].Value != want {
			t.Errorf("%q is %q, %v, want %q", text, spelled.Path[0].Value, err, want)
		}
		for _, v := range []Override{written, spelled} {
			made, err := NewOverride(v)
			if err != nil {
				t.Fatal(err)
			}
			in := netip.MustParsePrefix(want)
			for _, value := range []string{"192.0.2.8", "::ffff:192.0.2.8", "192.0.3.1", "2001:db8::5", "2001:db9::"} {
				var r Result
				q := &Request{Domain: []byte("api"), Descriptors: []Descriptor{{Entries: []Entry{{[]byte("ip"), []byte(value)}}}}}
				if err := set.Match(q, new(Overrides).With(made), 0, &r); err != nil ||
					(r.Verdict == Denied) != in.Contains(netip.MustParseAddr(value).Unmap()) {
					t.Errorf("%q: %s is %v, %v", v.Path[0].Value, value, r.Verdict, err)
				}
			}
		}
	}
}

// TestUselessAddress: rules and overrides that no address can meet are mistakes. Rules that are in use
// already stay in use.
func TestUselessAddress(t *testing.T) {
	for _, text := range []string{
		"lists: {l: {key: ip, values: [192.0.2.0/24]}}\ndeny: [l]\n",
		"lists: {l: {key: ip, values: [' 192.0.2.0/24 ']}}\nallow: [l]\n",
		"lists: {l: {key: ip, values: ['[2001:db8::]/32']}}\ndeny: [l]\n",
		"lists: {l: {key: x, values: ['2001:db8::/32'], cidr: ['::1']}}\ndeny: [l]\n",
		"lists: {l: {key: ip, values: ['192.0.2.*']}}\ndeny: [l]\n",
		"rules: [{name: r, match: {ip: 192.0.2.0/24}, limits: 1/m}]\n",
		"rules: [{name: r, per: [ip/64/], limits: 1/m}]\n",
		"rules: [{name: r, per: [ip/-1], limits: 1/m}]\n",
		"addresses: [peer]\nrules: [{name: r, per: [peer/net], limits: 1/m}]\n",
		"descriptors: [{key: remote_address, value: 192.0.2.0/24, rate_limit: {unit: hour, requests_per_unit: 3}}]\n",
	} {
		files := []source.File{{Name: "f", Text: []byte("domain: api\n" + text)}}
		if _, err := Load(files); err == nil || !strings.Contains(err.Error(), "got \"") {
			t.Errorf("%s is loaded with %v", text, err)
		}
		if set, err := LoadInUse(files); err != nil || len(set.Warnings()) != 1 {
			t.Errorf("%s in use is not loaded, or without a warning: %v", text, err)
		}
	}
	for _, text := range []string{
		"192.0.2.7:80", " 192.0.2.7", "192.0.2.7/24", "::ffff:192.0.2.7/120", "::ffff:192.0.2.0/129", "192.0.2.0/24:80",
		"fe80::1%eth0", "[::1]", "192.0.2.007", "unknown", "",
	} {
		_, err := Load([]source.File{{Name: "f",
			Text: []byte("domain: api\nlists: {l: {key: ip, cidr: ['" + text + "']}}\ndeny: [l]\n")}})
		if err == nil {
			t.Errorf("cidr %q is loaded", text)
		}
	}
	for _, per := range []string{"ip/0", "ip/129", "ip/33/64", "ip/0/64", "ip/24/0"} {
		_, err := Load([]source.File{{Name: "f",
			Text: []byte("domain: api\nrules: [{name: r, per: [" + per + "], limits: 1/m}]\n")}})
		if err == nil || !strings.Contains(err.Error(), "per must be") {
			t.Errorf("per %q is loaded with %v", per, err)
		}
	}
	set := load(t, "domain: api\nrules: [{name: r, per: [ip/64], limits: 1/m}]\n")
	for _, v := range []Override{
		{Path: []Attribute{{"ip", "2001:db8::/48"}}, Effect: Replace, Limit: "1/m", Rule: "r"},
		{Path: []Attribute{{"ip", "192.0.2.0/24"}}, Effect: Replace, Limit: "1/m", Rule: "r"},
	} {
		v.Domain = "api"
		if _, err := set.Spell(v); err == nil {
			t.Errorf("the override %+v is accepted", v)
		}
	}
}

// TestNotAddresses: attributes that are not named as addresses are compared byte by byte.
func TestNotAddresses(t *testing.T) {
	set := load(t, "domain: api\naddresses: []\nlists: {l: {key: ip, values: ['192.0.2.7:80']}}\ndeny: [l]\nrules: "+
		"[{name: r, per: [ip], limits: 1/m}]\n")
	made, err := NewOverride(Override{Domain: "api", Path: []Attribute{{"ip", "192.0.2.8:80"}}, Effect: Deny})
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	for value, want := range map[string]Verdict{"192.0.2.7:80": Denied, "192.0.2.7": Limited, "192.0.2.8:80": Denied,
		"192.0.2.8": Limited} {
		q := &Request{Domain: []byte("api"), Descriptors: []Descriptor{{Entries: []Entry{{[]byte("ip"), []byte(value)}}}}}
		if err := set.Match(q, new(Overrides).With(made), 0, &r); err != nil || r.Verdict != want {
			t.Errorf("%s is %v, %v, want %v", value, r.Verdict, err, want)
		}
	}
}

func TestAddressAllocations(t *testing.T) {
	set := load(t, addressRules)
	q := &Request{Domain: []byte("api"),
		Descriptors: []Descriptor{{Entries: []Entry{{[]byte("a"), []byte("[::ffff:192.0.2.9]:80")}}}}}
	var r Result
	if n := testing.AllocsPerRun(100, func() {
		if err := set.Match(q, nil, 0, &r); err != nil || r.Verdict != Limited {
			t.Fatal(err, r.Verdict)
		}
		r.Release()
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
