package rules

import (
	"strings"
	"testing"
)

// TestPaths: each form makes some spellings of a path equal, in match, in a list and in
// counters.
func TestPaths(t *testing.T) {
	same := map[string][]string{
		"plain": {"//login", "/a/../login", "/%6Cogin", "/login?a=b", "/./login", "/login#x",
			"https://h/login"},
		"slash":                    {"/login/", "/login//"},
		"params":                   {"/login;v=1", "/login;v=1;w"},
		"case":                     {"/LOGIN", "/Login"},
		"[plain, slash]":           {"//login", "/login/", "//login/"},
		"[plain, params]":          {"/login%3Bv=1", "/;v=1/login", "/.;/login", "/..;/login", "/a;v=1/%2e%2E;w/login"},
		"all":                      {"//LOGIN;v=1/?a=b", "/a/../%4Cogin/", "/login;v=1/", "/..;/Login/;v=1"},
		"[case, slash]":            {"/LOGIN/"},
		"[case, slash, plain]":     {"/%4COGIN/"},
		"[params, slash]":          {"/login;v=1/"},
		"[slash, params, case]":    {"/LOGIN;V=1/"},
		"[plain, params, case, ]":  {"//LOGIN;V=1"},
		"[plain, slash, params, ]": {"//login;v=1/"},
	}
	all := []string{"/login"}
	for _, paths := range same {
		all = append(all, paths...)
	}
	for form, paths := range same {
		set := load(t, "domain: api\npaths: {path: "+form+"}\nlists: {l: {key: path, values: [/login]}}\ndeny: [l]\n"+
			"rules: [{name: r, match: {path: [/login, /api/*]}, per: [path], limits: 1/m}]\n---\n"+
			"domain: direct\npaths: {path: "+form+
			"}\nrules: [{name: r, match: {path: [/login, /Other/, /Pre*]}, per: [path], limits: 1/m}]\n")
		matches := func(domain, path string) (denied, met bool, key string) {
			var r Result
			q := &Request{Domain: []byte(domain), Descriptors: []Descriptor{{Entries: []Entry{{[]byte("path"), []byte(path)}}}}}
			for range 3 {
				if err := set.Match(q, nil, 0, &r); err != nil {
					t.Fatal(err)
				}
			}
			if len(r.Limits) > 0 {
				key = string(r.Limits[0].Key)
			}
			return r.Verdict == Denied, r.Matched, key
		}
		_, _, want := matches("direct", "/login")
		for _, path := range append(paths, "/login") {
			denied, _, _ := matches("api", path)
			if _, met, key := matches("direct", path); !denied || !met || key != want {
				t.Errorf("%s: %q is denied %v, matched %v, key %s", form, path, denied, met, key)
			}
		}
		for _, path := range []string{"/Other/", "/Prefix"} { // the form of the rule's own values
			if _, met, _ := matches("direct", path); !met {
				t.Errorf("%s: %q is not matched", form, path)
			}
		}
		if strings.ContainsAny(form, "[,") || form == "all" {
			continue
		}
		for _, path := range all { // a word alone makes no other spellings equal
			member := path == "/login"
			for _, p := range paths {
				member = member || p == path
			}
			if denied, _, _ := matches("api", path); denied != member {
				t.Errorf("%s: %q is denied %v", form, path, denied)
			}
		}
	}
	set := load(t, "domain: api\nrules: [{name: r, match: {path: /login}, limits: 1/m}]\n")
	for _, path := range all[1:] {
		var r Result
		q := &Request{Domain: []byte("api"), Descriptors: []Descriptor{{Entries: []Entry{{[]byte("path"), []byte(path)}}}}}
		if err := set.Match(q, nil, 0, &r); err != nil || r.Matched {
			t.Errorf("without the word paths %q is matched, %v", path, err)
		}
	}
}
