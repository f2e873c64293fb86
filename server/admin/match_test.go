package admin

import (
	"net/url"
	"strings"
	"testing"
)

// matchPath returns the address of a match.
func matchPath(domain string, attributes ...string) string {
	query := url.Values{"domain": {encodeKey([]byte(domain))}}
	for i := 0; i < len(attributes); i += 2 {
		query.Add("a", encodeKey([]byte(attributes[i]))+"."+encodeKey([]byte(attributes[i+1])))
	}
	return "/api/match?" + query.Encode()
}

func TestMatch(t *testing.T) {
	f := serve(t, "", nil)
	f.load(ruleText)
	f.expect(matchPath("api", "ip", "\xff", "path", "/login"), "", 200,
		`{"verdict":"ok","limits":[{"name":"login/slide-1m","limit":"2/1m slide","mode":"enforced","raw":"`+
			encodeKey([]byte("rule:api|login|\xff#SLIDE:slide-1m"))+
			`","now":{"allowed":true,"remaining":2,"wait_ms":0}}],"boxes":["`+
			encodeKey([]byte("rule:api|login|\xff#penalty"))+`"],"explained":[`+
			`{"rule":"tree","matches":false,"reason":"no descriptor has ip \\xff"},{"rule":"login/slide-1m","matches":true,"reason":"2/1m slide"},`+
			`{"rule":"dark","matches":false,"reason":"match: path is /login"},{"rule":"idle","matches":false,"reason":"match: path is /login"}],`+
			`"now":{"allowed":true,"reason":"ok","name":"login/slide-1m","remaining":2,"wait_ms":0,"error":""}}`)
	f.expect(matchPath("none", "a", "b"), "", 200,
		`{"verdict":"none","limits":[],"boxes":[],"explained":[{"rule":"domain","matches":false,"reason":"there are no rules for domain \"none\""}],`+
			`"now":{"allowed":true,"reason":"none","name":"","remaining":-1,"wait_ms":0,"error":""}}`)
	f.expect(matchPath("", "a", "b"), "", 400, `{"error":"domain must be 1 to 256 bytes long, got ''"}`)
	f.expect(matchPath("api"), "", 400, `{"error":"a must be there 1 to 32 times, once for each attribute, got none"}`)
	f.expect(matchPath("api", strings.Split(strings.Repeat("k v ", 33), " ")[:66]...), "", 400,
		`{"error":"a descriptor may have 32 attributes, got 33"}`)
	f.expect("/api/match?domain=*", "", 400,
		`{"error":"raw must be the bytes of a key in the URL-safe alphabet of base64"}`)
	if n := f.handler.Engine().Len(); n != 0 {
		t.Errorf("%d keys after matches", n)
	}
}

// TestMatchNow: a match tells the answer that the request would get, and counts nothing.
func TestMatchNow(t *testing.T) {
	f := serve(t, "", nil)
	f.load(ruleText + `
---
domain: more
rules:
  - {name: two, per: [user], limits: [3/minute, 1/day]}
  - {name: never, match: {plan: none}, limits: [none]}
  - {name: busy, match: {plan: busy}, limits: 1 at once ttl 30s}
lists: {bad: {key: ip, cidr: [192.0.2.0/24]}}
deny: [bad]
`)
	f.execute("RL.CHECK more user 7", "RL.CHECK more plan busy ID a")
	for range 3 {
		f.execute("RL.CHECK api ip 9 path /login")
	}
	f.execute("RL.CHECK api path /dark", "RL.CHECK api path /dark")
	before := getJSON[rulesState](f, "/api/rules")
	for _, tt := range []struct {
		domain string
		given  []string
		want   outcomeNow
	}{
		{"api", []string{"ip", "1", "path", "/login"}, outcomeNow{true, "ok", "login/slide-1m", 2, 0, ""}},
		{"api", []string{"ip", "9", "path", "/login"}, outcomeNow{false, "blocked", "login", 0, 3_600_000, ""}},
		{"api", []string{"path", "/dark"}, outcomeNow{true, "none", "", -1, 0, ""}},
		{"more", []string{"user", "7"}, outcomeNow{false, "limited", "two/fixed-day", 0, 6_400_000, ""}},
		{"more", []string{"user", "8"}, outcomeNow{true, "ok", "two/fixed-day", 1, 0, ""}},
		{"more", []string{"plan", "none"}, outcomeNow{false, "limited", "never/none", 0, -1, ""}},
		{"more", []string{"plan", "busy"}, outcomeNow{false, "limited", "busy/lease-30s", 0, 30_000, ""}},
		{"more", []string{"ip", "192.0.2.1"}, outcomeNow{false, "denied", "", 0, -1, ""}},
	} {
		for range 3 { // the first look changes nothing for the next
			if is := getJSON[matched](f, matchPath(tt.domain, tt.given...)); is.Now != tt.want {
				t.Errorf("%s %q: %+v, want %+v", tt.domain, tt.given, is.Now, tt.want)
			}
		}
	}
	is := getJSON[matched](f, matchPath("more", "user", "7"))
	if len(is.Limits) != 2 || is.Limits[0].Row == nil || *is.Limits[0].Row != (limitNow{true, 2, 0}) ||
		*is.Limits[1].Row != (limitNow{false, 0, 6_400_000}) {
		t.Errorf("the rows are %+v", is.Limits)
	}
	if after := getJSON[rulesState](f, "/api/rules"); after.Unmatched != before.Unmatched ||
		after.Rows[0] != before.Rows[0] || after.Rows[1] != before.Rows[1] {
		t.Errorf("matches were counted: %+v, before %+v", after.Rows, before.Rows)
	}
	f.handler.SetLoading(true)
	if is = getJSON[matched](f, matchPath("more", "user", "8")); is.Now.Allowed ||
		is.Now.Error != "limitsrv is loading the dataset in memory" || len(is.Limits) != 2 {
		t.Errorf("while loading the answer is %+v", is)
	}
}
