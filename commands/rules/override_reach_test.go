package rules

import (
	"fmt"
	"strings"
	"testing"
)

const reachRules = `domain: api
lists:
  bad: {key: country, values: [xx]}
  blocked: {key: ip, cidr: [198.51.100.0/24, "2001:db8:bad::/48"], invalid: ignore}
  office: {key: ip, cidr: [192.0.2.0/24]}
deny: [bad, blocked]
allow: [office]
http: {agent: user-agent}
rules:
  - {name: login, match: {path: /login}, per: [ip], limits: [5/minute, 20/day]}
  - {name: tenant, per: [tenant, user], tier: plan, limits: {free: 10/minute, pro: 100/minute, default: free}}
---
domain: tree
descriptors:
  - {key: tenant, descriptors: [{key: path, rate_limit: {unit: hour, requests_per_unit: 3}}]}
  - {key: "x-*", value: "a*", rate_limit: {unit: hour, requests_per_unit: 3}}
rules: [{name: flat, per: [user], limits: 1/m}]
`

// TestReach: an override that no request can meet is an error with the nearest name. Other
// overrides tell the number of their limits.
func TestReach(t *testing.T) {
	set := load(t, reachRules)
	for _, tt := range []struct {
		line string // domain, attributes, then an effect and perhaps a rule
		want string // a number of limits, or a part of the error
	}{
		{"api DENY", "4"},
		{"api ip 10.0.0.1 DENY", "4"},
		{"api ip 10.0.0.0/8 DENY", "4"},
		{"api path /a* ALLOW", "4"},
		{"api country de DENY", "4"},
		{"api agent curl DENY", "4"},
		{"api plan pro ALLOW", "3"},
		{"api plan gold DENY", "3"},
		{"api path /login DENY", "4"},
		{"api path /logn DENY", "2"},
		{"api plan pro path /logn DENY", "1"},
		{"api ip 10.0.0.1 LIMIT login", "2"},
		{"api ip 10.0.0.1 LIMIT login/slide-1m", "1"},
		{"api user u tenant t LIMIT tenant", "2"},
		{"tree tenant t LIMIT", "0"},
		{"tree tenant t path p LIMIT", "1"},
		{"tree x-1 a1 LIMIT", "1"},
		{"tree x-1 a1 DENY", "3"},
		{"apii ip 10.0.0.1 DENY", "domain: one of the rules, got 'apii'; did you mean api?"},
		{"api ipp 10.0.0.1 DENY",
			"attribute: one that the rules of api name, got 'ipp'; there are agent, country, ip, path, plan, tenant, user"},
		{"api tenants t DENY", "did you mean tenant?"},
		{"tree y-1 a1 DENY", "attribute: one that the rules of tree name"},
		{"api ip 10.0.0.1 LIMIT logn", "RULE: a rule of api, or RULE/LIMIT, got 'logn'; did you mean login?"},
		{"api ip 10.0.0.1 LIMIT login/slide-2m",
			"RULE: a limit of rule login, got 'login/slide-2m'; did you mean login/slide-1m?"},
		{"api ip 10.0.0.1 LIMIT", "LIMIT needs RULE name, because 'ip' is an attribute of rules and of no descriptors; the " +
			"rules of api are login, tenant"},
		{"tree user u LIMIT", "LIMIT needs RULE name"},
		{"api path /login LIMIT login", "attributes with RULE: those by which rule login counts, ip, got path"},
		{"api ip 1.2.3.4 path /login LIMIT login", "got ip, path"},
		{"api tenant t LIMIT tenant", "tenant, user, got tenant"},
		{"api tenant t* user u LIMIT tenant", "neither a pattern nor a range"},
		{"tree tenant 10.0.0.0/8 LIMIT", "neither a pattern nor a range"},
		{"api ip 10.0.0.0/33 DENY", "value of ip: an address such as 192.0.2.1 or 2001:db8::1, a range such as " +
			"192.0.2.0/24, or a pattern with *, got '10.0.0.0/33'"},
		{"api ip 10.0.0/8 DENY", "got '10.0.0/8'"},
		{"api ip 10.0.0.256 ALLOW", "got '10.0.0.256'"},
		{"api ip 10.0.0.1-10.0.0.9 DENY", "got '10.0.0.1-10.0.0.9'"},
		{"api ip 10.0.0.1,10.0.0.2 DENY", "value of ip"},
		{"api ip 2001:db8:::1 DENY", "value of ip"},
		{"api ip host.example.com DENY", "value of ip"},
		{"api ip 10.0.0.300 LIMIT login", "value of ip"},
		{"api ip unknown DENY", "4"},
		{"api ip _hidden.1 DENY", "4"},
		{"api ip 10.0.* DENY", "4"},
		{"api ip 10.1.2.3:5123 DENY", "4"},
		{"api path /v1.0 DENY", "2"},
		{"api country xx DENY", "4"},
		{"api country xx ALLOW", "value of country: 'xx' is in a list of deny, which goes before ALLOW: change the list"},
		{"api ip 198.51.100.7 ALLOW", "is in a list of deny, which goes before ALLOW"},
		{"api ip ::ffff:198.51.100.7 ALLOW", "'198.51.100.7' is in a list of deny"},
		{"api ip 198.51.100.128/25 ALLOW", "is in a list of deny"},
		{"api ip 198.51.0.0/16 ALLOW", "4"},
		{"api ip 198.51.100.7 LIMIT login", "is in a list of deny, which goes before LIMIT"},
		{"api ip 192.0.2.7 LIMIT login", "is in a list of allow, which goes before LIMIT"},
		{"api ip 192.0.2.7 ALLOW", "4"},
		{"api ip 192.0.2.7 DENY", "4"},
		{"api country xx ip 10.0.0.1 ALLOW", "is in a list of deny"},
	} {
		words := strings.Fields(tt.line)
		v := Override{Domain: words[0], Effect: Deny}
		for words = words[1:]; len(words) > 1 && words[0] != "LIMIT"; words = words[2:] {
			v.Path = append(v.Path, Attribute{words[0], words[1]})
		}
		switch words[0] {
		case "ALLOW":
			v.Effect = Allow
		case "LIMIT":
			v.Effect, v.Limit, v.Rule = Replace, "1/m", strings.Join(words[1:], "")
		}
		spelled, err := set.Spell(v)
		limits := 0
		var made *Override
		if err == nil {
			made, err = NewOverride(spelled)
		}
		if err == nil {
			limits, err = set.Reach(made)
		}
		if got := fmt.Sprint(limits); err == nil && got != tt.want || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %s limits, error %v, want %s", tt.line, got, err, tt.want)
		}
	}
}

// TestWideOverrides: ranges and patterns match the values that they cover. The longest path holds,
// a plain value before other paths of its length, and of these DENY.
func TestWideOverrides(t *testing.T) {
	set := load(t, reachRules)
	var all *Overrides
	add := func(effect Effect, domain string, path ...string) *Override {
		v := Override{Domain: domain, Effect: effect}
		for i := 0; i < len(path); i += 2 {
			v.Path = append(v.Path, Attribute{path[i], path[i+1]})
		}
		v, err := set.Spell(v)
		if err != nil {
			t.Fatal(err)
		}
		made, err := NewOverride(v)
		if err != nil {
			t.Fatal(err)
		}
		all = all.With(made)
		return made
	}
	v := add(Deny, "api", "ip", "010.1.2.3/8")
	add(Allow, "api", "ip", "10.0.0.7")
	add(Allow, "api", "ip", "10.0.0.0/24")
	add(Deny, "api", "ip", "2001:db8::/32")
	add(Deny, "api", "path", "/admin/*")
	add(Allow, "tree", "tenant", "t*")
	add(Deny, "tree", "tenant", "t*", "path", "/x*")
	add(Deny, "api", "user", "u7", "ip", "12.0.0.0/8")
	add(Deny, "api", "user", "u8", "country", "de")
	var r Result
	verdict := func(line string) Verdict {
		words := strings.Fields(line)
		var d Descriptor
		for i := 1; i < len(words); i += 2 {
			d.Entries = append(d.Entries, Entry{[]byte(words[i]), []byte(words[i+1])})
		}
		if err := set.Match(&Request{Domain: []byte(words[0]), Descriptors: []Descriptor{d}}, all, 0, &r); err != nil {
			t.Fatal(err)
		}
		return r.Verdict
	}
	for line, want := range map[string]Verdict{
		"api ip 10.9.9.9": Denied, "api ip ::ffff:10.9.9.9": Denied, "api ip 11.0.0.1": None, "api ip 10.0.0.7": Allowed,
		"api ip 10.0.0.8":      Denied,
		"api ip 2001:DB8:0::1": Denied, "api user u path /admin/a": Denied, "api user u path /admin": None,
		"api user u ip 10.9.9.9": Denied, "api ip none": None,
		"tree tenant t1": Allowed, "tree tenant t1 path /y": Allowed, "tree tenant t1 path /x1": Denied,
		"tree path /x1": None, "tree path /x1 tenant t1": Denied,
		"api user u7 ip 12.0.0.1": Denied, "api path / ip 12.0.0.1 user u7": Denied, "api ip 12.0.0.1 user u": None,
		"api user u7 ip 13.0.0.1": None, "api user u7": None,
		"api user u8 country de": Denied, "api path / country de user u8": Denied, "api country fr user u8": None,
		"api user u8": None, "api user u user u8 country de": None,
	} {
		if got := verdict(line); got != want {
			t.Errorf("%s is %v, want %v", line, got, want)
		}
	}
	if n := all.NumWide(v); n != 4 || !v.IsWide() {
		t.Errorf("%d other overrides are wide, want 4", n)
	}
	if n := testing.AllocsPerRun(100, func() { verdictOf(set, all, &r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	all = all.Without(v)
	if got := verdict("api ip 10.9.9.9"); got != None {
		t.Errorf("without its override it is %v", got)
	}
}

var wideRequest = Request{Domain: []byte("api"),
	Descriptors: []Descriptor{{Entries: []Entry{{[]byte("ip"), []byte("10.9.9.9")}}}}}

func verdictOf(set *Set, all *Overrides, r *Result) {
	_ = set.Match(&wideRequest, all, 0, r)
	r.Release()
}

// TestShapes: a domain has a bounded number of sets of keys in overrides with several attributes.
func TestShapes(t *testing.T) {
	made := func(n int, value string) *Override {
		v, err := NewOverride(Override{Domain: "d", Effect: Deny, Path: []Attribute{{"a", value}, {fmt.Sprint("k", n), "v"}}})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var all *Overrides
	for n := range MaxShapes {
		if !all.HasShapeFor(made(n, "v")) {
			t.Fatalf("there is no room for shape %d", n)
		}
		all = all.With(made(n, "v")).With(made(n, "v")).With(made(n, "w"))
	}
	if all.HasShapeFor(made(MaxShapes, "v")) || !all.HasShapeFor(made(0, "x")) {
		t.Errorf("beyond %d shapes there is room, or there is no room for a known shape", MaxShapes)
	}
	all = all.Without(made(0, "v"))
	if all.HasShapeFor(made(MaxShapes, "v")) {
		t.Error("a shape ended with one of its two overrides")
	}
	if all = all.Without(made(0, "w")); !all.HasShapeFor(made(MaxShapes, "v")) {
		t.Error("a shape did not end with its last override")
	}
}
