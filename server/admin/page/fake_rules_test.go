package page

import (
	"maps"
	"net/http"
)

// limit returns a limit of the API's reply about rules.
func limit(name, text, mode string, allowed, denied, shadow int) object {
	return object{"domain": "api", "name": name, "tier": "", "limit": text, "mode": mode, "allowed": allowed,
		"denied": denied, "shadow_denied": shadow}
}

// override returns a denial of an address in the API's reply about rules.
func override(ip string, left int, note string) object {
	return object{
		"domain": "api", "path": []object{{"key": encodeKey("ip"), "value": encodeKey(ip)}}, "effect": "DENY", "limit": "",
		"rule": "", "left_ms": left, "note": note, "user": "alice",
	}
}

func (f *fake) replyRules(w http.ResponseWriter, _ *http.Request) {
	pro := limit("tenant/token-1s", "100/1s token burst 200", "enforced", 912_004, 77, 0)
	pro["tier"] = "pro"
	is := object{
		"version": 12, "sha": "ab12cd34ef56", "loaded_ms": 1_795_000_000_000, "user": "alice", "note": "ticket 7",
		"domains": 2, "rules": 40, "limits": 63,
		"shadow": false, "unusable": false, "file_error": "", "file_differs": false, "load_errors": 0, "penalties": 31,
		"events_error": "", "events_waiting": 0,
		"unmatched": 1204,
		"rows": []object{
			limit("login/slide-1m", "5/1m slide", "enforced", 48_211, 3120, 0), pro,
			limit("search/search-minute", "100/1m log grace 10", "shadow", 20_411, 0, 512),
			limit("tenant=acme/path", "3/1h fixed", "enforced", 0, 0, 0),
		},
		"overrides": []object{override("203.0.113.7", 3_480_000, "abuse, ticket 9"), override("198.51.100.0", -1, "")},
		"boxes": []object{
			{"raw": encodeKey("rule:api|login|203.0.113.7#penalty"), "db": 0, "level": 2, "left_ms": 118_000},
			{"raw": encodeKey("rule:api|login|2001:db8::8a2e:370:7334#penalty"), "db": 0, "level": 1, "left_ms": 4200},
		},
		"override_count": 2, "box_count": 2,
	}
	maps.Copy(is, f.rules)
	replyJSON(w, 200, is)
}

// replyMatch replies with the limits of a request for the path /login; a domain other than api is
// an error.
func (f *fake) replyMatch(w http.ResponseWriter, r *http.Request) {
	f.matches = append(f.matches, r.URL.RawQuery)
	if r.FormValue("domain") != encodeKey("api") {
		replyJSON(w, 400, object{"error": "domain must be 1 to 256 bytes long, got ''"})
		return
	}
	replyJSON(w, 200, object{
		"verdict": "ok", "boxes": []string{encodeKey("rule:api|login|203.0.113.7#penalty")},
		"limits": []object{{"name": "login/slide-1m", "limit": "5/1m slide", "mode": "enforced",
			"raw": encodeKey("user:42"), "now": object{"allowed": true, "remaining": 3, "wait_ms": 0}}},
		"now": f.matchNow,
		"explained": []object{
			{"rule": "login/slide-1m", "matches": true, "reason": "5/1m slide"},
			{"rule": "tenant", "matches": false, "reason": "per: the request has no tenant"},
		},
	})
}
