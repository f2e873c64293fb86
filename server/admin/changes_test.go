package admin

import (
	"fmt"
	"strings"
	"testing"
)

func TestBlock(t *testing.T) {
	f := serve(t, "", nil)
	f.execute("SELECT 3", "RL.FIXED a 10 day")
	f.expect("/api/block", `{"raw":"YQ","db":3,"duration":"10m"}`, 204, "")
	f.expect("/api/key?raw=YQ&db=3", "", 200, `{"found":true,"key":"a","raw":"YQ","algorithm":"PENALTY","limit":1,"rate":null,`+
		`"window_ns":null,"calendar":null,"remaining":0,"wait_ms":600000,"reset_ms":600000,"blocked":true}`)
	if is := getJSON[rulesState](f, "/api/rules"); len(is.Boxes) != 1 || is.Boxes[0] != (boxRow{"YQ", 3, 1, 600_000}) {
		t.Errorf("the blocked keys are %+v", is.Boxes)
	}
	f.clock.Advance(599_500e6) // the box has opened, and the block has not ended
	if is := getJSON[keyState](f, "/api/key?raw=YQ&db=3"); !is.Blocked || is.Remaining != 0 || is.Wait != 500 {
		t.Errorf("shortly before the end the key is %+v", is)
	}
	f.expect("/api/reset", `{"raw":"YQ","db":3}`, 200, `{"forgotten":1}`)
	f.expect("/api/key?raw=YQ&db=3", "", 200, `{"found":false}`)
	for _, tt := range []struct{ body, want string }{
		{`{"raw":"YQ","duration":"x"}`, `{"error":"duration must be`},
		{`{"raw":"YQ"}`, `{"error":"duration must be`},
		{`{"raw":"","duration":"1h"}`, `{"error":"key must be 1 to 1024 bytes long, got ''"}`},
		{`{"raw":"*","duration":"1h"}`, `{"error":"raw must be the bytes of a key`},
		{`{"raw":"YQ","db":16,"duration":"1h"}`, `{"error":"db must be 0 to 15, got 16"}`},
		{`{"raw":"` + encodeKey([]byte("rule:api|x#penalty")) + `","duration":"1h"}`, `{"error":"key must not be a penalty box`},
		{`{"key":"a","duration":"1h"}`, `{"error":"the body is not the expected JSON object"}`},
	} {
		if answer, text := f.request("/api/block", tt.body); answer.StatusCode != 400 || !strings.HasPrefix(text, tt.want) {
			t.Errorf("%s returns %d %s, want 400 %s", tt.body, answer.StatusCode, text, tt.want)
		}
	}
	if n := f.handler.Engine().Len(); n != 0 {
		t.Errorf("%d keys after rejected blocks", n)
	}
}

func TestResetRules(t *testing.T) {
	f := serve(t, "", nil)
	f.load(ruleText)
	for range 3 {
		f.execute("RL.CHECK api ip 9 path /login")
	}
	body := func(domain string, attributes ...string) string {
		all := []string{}
		for i := 0; i < len(attributes); i += 2 {
			all = append(all, fmt.Sprintf(`"%s.%s"`, encodeKey([]byte(attributes[i])), encodeKey([]byte(attributes[i+1]))))
		}
		return fmt.Sprintf(`{"domain":"%s","attributes":[%s]}`, encodeKey([]byte(domain)), strings.Join(all, ","))
	}
	if is := getJSON[matched](f, matchPath("api", "ip", "9", "path", "/login")); is.Now.Reason != "blocked" {
		t.Errorf("before the reset the answer is %+v", is.Now)
	}
	f.expect("/api/rules/reset", body("api", "ip", "9"), 200, `{"forgotten":2}`)
	if is := getJSON[matched](f, matchPath("api", "ip", "9", "path", "/login")); !is.Now.Allowed || is.Now.Remaining != 2 {
		t.Errorf("after the reset the answer is %+v", is.Now)
	}
	f.expect("/api/rules/reset", body("api", "ip", "9"), 200, `{"forgotten":0}`)
	f.expect("/api/rules/reset", body("api", "color", "red"), 400,
		`{"error":"attribute: one that the rules of api name, got 'color'; there are ip, path, tenant"}`)
	f.expect("/api/rules/reset", body("api", "path", "/login"), 400,
		`{"error":"no rule counts by these attributes alone: RL.RULES MATCH explains the rules"}`)
	f.expect("/api/rules/reset", body("api"), 400,
		`{"error":"a must be there 1 to 32 times, once for each attribute, got none"}`)
	f.expect("/api/rules/reset", `{"domain":"*"}`, 400,
		`{"error":"raw must be the bytes of a key in the URL-safe alphabet of base64"}`)
	f.handler.SetLoading(true)
	f.expect("/api/rules/reset", body("api", "ip", "9"), 503, `{"error":"limitsrv is loading the dataset in memory"}`)
}

// changes are the requests that change keys.
var changes = map[string]string{
	"/api/reset":       `{"raw":"YQ"}`,
	"/api/block":       `{"raw":"YQ","duration":"1h"}`,
	"/api/rules/reset": `{"domain":"YXBp","attributes":["aXA.OQ"]}`,
}
