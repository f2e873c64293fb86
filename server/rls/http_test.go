package rls

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"limitsrv/commands/resp"
	"limitsrv/commands/rules"
	"limitsrv/commands/rules/checks"
	"limitsrv/commands/rules/source"
	"limitsrv/commands/session"
	"limitsrv/internal/testing/testwait"
)

// do sends a request and returns the answer with its body.
func (f *rig) do(r *http.Request, config *tls.Config) (*http.Response, string) {
	f.t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true},
		Timeout: testwait.Scaled(testTimeout)}
	answer, err := client.Do(r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer, strings.TrimSpace(string(body))
}

// post sends a POST.
func (f *rig) post(scheme string, config *tls.Config, path, body string,
	change ...func(*http.Request)) (*http.Response, string) {
	f.t.Helper()
	r, err := http.NewRequest("POST", scheme+"://"+f.HTTPAddr().String()+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	for _, c := range change {
		c(r)
	}
	return f.do(r, config)
}

// echo answers with the request as the error's text.
func echo(_ context.Context, _ session.Call, q *checks.Request) (*checks.Answer, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s hits %d id %s peek %v", q.Domain, q.Hits, q.ID, q.Peek)
	for _, a := range q.Amounts {
		fmt.Fprintf(&b, " %s %d", a.Name, a.N)
	}
	for _, d := range q.Descriptors {
		b.WriteString(" |")
		for _, e := range d.Entries {
			fmt.Fprintf(&b, " %s=%s", e.Key, e.Value)
		}
	}
	return nil, resp.NewError("ERR", b.String())
}

func TestCheckRequests(t *testing.T) {
	f := start(t, "", nil)
	f.decider.set(echo)
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"attributes stay in order", `{"domain":"api","attributes":{"z":"1","a":"2","Z":"3"}}`, 400,
			"ERR api hits 1 id  peek false | z=1 a=2 Z=3"},
		{"no attribute is there twice", `{"domain":"api","attributes":{"z":"1","a":"2","z":"3"}}`, 400,
			`ERR the body: the name \"z\" twice in one object`},
		{"no word is there twice", `{"domain":"api","domain":"other"}`, 400,
			`ERR the body: the name \"domain\" twice in one object`},
		{"words have their case", `{"domain":"api","Domain":"other"}`, 400, `ERR the body: unknown field \"Domain\"`},
		{"descriptors follow",
			`{"domain":"api","attributes":{"z":"1"},"descriptors":[[["a","b"],["c","d"]],[["e",""]]],"hits":0,"id":"x","peek":true}`, 400,
			"ERR api hits 0 id x peek true | z=1 | a=b c=d | e="},
		{"hits have a bound", `{"domain":"api","hits":-1}`, 400, "ERR hits: 0 to 2000000000001, got -1"},
		{"hits may be amounts", `{"domain":"api","hits":{"in":1200,"out":0}}`, 400, "ERR api hits 1 id  peek false in 1200 out 0"},
		{"amounts have a bound", `{"domain":"api","hits":{"in":1,"out":-1}}`, 400, "ERR hits.out: 0 to 2000000000001, got -1"},
		{"amounts are numbers", `{"domain":"api","hits":{"in":null}}`, 400, "ERR hits.in: 0 to 2000000000001, got null"},
		{"amounts are whole", `{"domain":"api","hits":{"in":1.5}}`, 400, "ERR hits.in: 0 to 2000000000001, got 1.5"},
		{"amounts have names", `{"domain":"api","hits":{}}`, 400, "ERR hits: a number or at least one amount, got none"},
		{"hits are no text", `{"domain":"api","hits":"5"}`, 400, `ERR hits: 0 to 2000000000001, got \"5\"`},
		{"no amount is there twice", `{"domain":"api","hits":{"in":1,"in":2}}`, 400, `the name \"in\" twice in one object`},
		{"unknown words are refused", `{"domain":"api","key":"a"}`, 400, `ERR the body: unknown field \"key\"`},
		{"attributes are strings", `{"domain":"api","attributes":{"n":1}}`, 400, "attributes: an object of strings"},
		{"a body has a bound", `{"domain":"` + strings.Repeat("a", 64<<10) + `"}`, 413,
			"the body must be at most 65536 bytes, got more"},
		{"no JSON", `domain`, 400, "ERR the body: "},
	} {
		answer, body := f.post("http", nil, "/v1/check", tt.body)
		if answer.StatusCode != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, answer.StatusCode, body, tt.status, tt.want)
		}
	}
}

func TestCheckAnswers(t *testing.T) {
	f := start(t, "", nil)
	var want *checks.Answer
	box := checks.Row{WaitMillis: 60_000, ResetMillis: 86_460_000, Name: "login"}
	f.decider.set(func(context.Context, session.Call, *checks.Request) (*checks.Answer, error) { return want, nil })
	for _, tt := range []struct {
		name    string
		answer  *checks.Answer
		status  int
		kind    string
		body    string
		headers map[string]string
	}{
		{"it allows", answered(true), 200, "application/json",
			`{"allowed":true,"limit":3,"remaining":2,"wait_ms":0,"reset_ms":1799001,"rule":"path/fixed-1h","reason":"ok","descriptor":0}`,
			map[string]string{"X-RateLimit-Limit": "3", "X-RateLimit-Remaining": "2", "X-RateLimit-Reset": "1800",
				"Retry-After":      "",
				"RateLimit-Policy": `"path/fixed-1h";q=3;w=3600`, "RateLimit": `"path/fixed-1h";r=2;t=1800`}},
		{"it denies", answered(false), 429, "application/problem+json",
			`{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"A limit is exceeded","status":429,"violated-policies":["path/fixed-1h"],` +
				`"allowed":false,"limit":3,"remaining":0,"wait_ms":1500,"reset_ms":1799001,"rule":"path/fixed-1h","reason":"limited","descriptor":0}`,
			map[string]string{"Retry-After": "2", "RateLimit": `"path/fixed-1h";r=0;t=2`}},
		{"a box is closed", &checks.Answer{Row: box, Reason: checks.Blocked, Binding: -1, Descriptor: 1,
			Boxes: []checks.Box{{Row: box, Descriptor: 1}}}, 429, "application/problem+json",
			`{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","title":"Too many requests were denied, so all are for a while","status":429,"violated-policies":["login"],` +
				`"allowed":false,"limit":0,"remaining":0,"wait_ms":60000,"reset_ms":86460000,"rule":"login","reason":"blocked","descriptor":1}`,
			map[string]string{"Retry-After": "60", "RateLimit": ""}},
		{"a key is blocked", &checks.Answer{Row: box, Reason: checks.Blocked, Binding: -1, Descriptor: 1,
			Boxes: []checks.Box{{Row: box, Limit: 1, Descriptor: 1}}}, 429, "application/problem+json",
			`{"type":"https://iana.org/assignments/http-problem-types#abnormal-usage-detected","title":"An administrator blocks these requests for a while","status":429,"violated-policies":["login"],` +
				`"allowed":false,"limit":0,"remaining":0,"wait_ms":60000,"reset_ms":86460000,"rule":"login","reason":"blocked","descriptor":1}`,
			map[string]string{"Retry-After": "60", "RateLimit": ""}},
		{"no limit applies", &checks.Answer{Row: checks.Row{Allowed: true, Limit: -1, Remaining: -1}, Reason: checks.None,
			Binding: -1, Descriptor: -1}, 200, "application/json",
			`{"allowed":true,"limit":-1,"remaining":-1,"wait_ms":0,"reset_ms":0,"rule":"","reason":"none"}`,
			map[string]string{"X-RateLimit-Limit": ""}},
	} {
		want = tt.answer
		answer, body := f.post("http", nil, "/v1/check", `{"domain":"api","attributes":{"ip":"a"}}`)
		if answer.StatusCode != tt.status || answer.Header.Get("Content-Type") != tt.kind || body != tt.body {
			t.Errorf("%s: %d %s\n got %s\nwant %s", tt.name, answer.StatusCode, answer.Header.Get("Content-Type"), body, tt.body)
		}
		for name, value := range tt.headers {
			if got := answer.Header.Get(name); got != value {
				t.Errorf("%s: %s: %s, want %s", tt.name, name, got, value)
			}
		}
	}
}

func TestHTTPStatuses(t *testing.T) {
	f := start(t, "", nil)
	for code, status := range map[string]int{"ERR": 400, "NOPERM": 403, "LOADING": 503, "CLUSTERDOWN": 503,
		"UNCERTAIN": 500, "OOM": 507} {
		f.decider.set(func(context.Context, session.Call, *checks.Request) (*checks.Answer, error) {
			return nil, resp.NewError(code, "why")
		})
		for _, path := range []string{"/v1/check", "/json", "/v1/forward/api"} {
			answer, body := f.post("http", nil, path, `{"domain":"api"}`,
				func(r *http.Request) { r.Header.Set("X-Api-Key", "k") })
			if answer.StatusCode != status || body != `{"error":"`+code+` why"}` {
				t.Errorf("%s answers %s as %d %s, want %d", path, code, answer.StatusCode, body, status)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	f := start(t, "", nil)
	body := `{"domain":"api","descriptors":[{"entries":[{"key":"path","value":"/cart"}]}]}`
	answer, text := f.post("http", nil, "/json", body)
	want :=
		`{"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":3,"unit":"HOUR"},"limitRemaining":2,"durationUntilReset":"1800s"}]}`
	if answer.StatusCode != 200 || text != want {
		t.Errorf("/json returns %d %s, want %s", answer.StatusCode, text, want)
	}
	f.decider.set(func(context.Context, session.Call, *checks.Request) (*checks.Answer, error) {
		return answered(false), nil
	})
	if answer, text := f.post("http", nil, "/json", body); answer.StatusCode != 429 ||
		!strings.Contains(text, `"overallCode":"OVER_LIMIT"`) {
		t.Errorf("a denial is %d %s", answer.StatusCode, text)
	}
	if answer, text := f.post("http", nil, "/json",
		`{"domain":"api","descriptors":[{"limit":{"requestsPerUnit":5}}]}`); answer.StatusCode != 400 {
		t.Errorf("a limit without a unit is %d %s", answer.StatusCode, text)
	}
}

func TestHTTPLogin(t *testing.T) {
	f := start(t, "secret", nil)
	as := func(password string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("X-Api-Key", "k")
			if password != "" {
				r.SetBasicAuth("default", password)
			}
		}
	}
	for _, path := range []string{"/v1/check", "/json", "/v1/forward/api"} {
		body := `{"domain":"api"}`
		if answer, _ := f.post("http", nil, path, body, as("")); answer.StatusCode != 401 ||
			answer.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without a login returns %s", path, answer.Status)
		}
		if answer, text := f.post("http", nil, path, body, as("secret")); answer.StatusCode != 200 {
			t.Errorf("%s with the password returns %s %s", path, answer.Status, text)
		}
	}
	if answer, _ := f.post("http", nil, "/v1/check", `{"domain":"api"}`, as("Secret")); answer.StatusCode != 401 {
		t.Errorf("a wrong password returns %s", answer.Status)
	}
}

// TestPages sends requests as a browser would for a page of another origin.
func TestPages(t *testing.T) {
	f := start(t, "", nil)
	for _, path := range []string{"/v1/check", "/json"} {
		if answer, text := f.post("http", nil, path, `{"domain":"api"}`,
			func(r *http.Request) { r.Header.Set("Origin", "https://example.com") }); answer.StatusCode != 403 {
			t.Errorf("%s of another origin returns %s %s", path, answer.Status, text)
		}
		if answer, text := f.post("http", nil, path, `{"domain":"api"}`,
			func(r *http.Request) { r.Host = "example.com" }); answer.StatusCode != 403 {
			t.Errorf("%s at a name returns %s %s", path, answer.Status, text)
		}
	}
	answer, text := f.post("http", nil, "/v1/forward/api", "", func(r *http.Request) {
		r.Host = "example.com"
		r.Header.Set("Origin", "https://example.com")
		r.Header.Set("Authorization", "Basic eDp5") // of the proxy's client
		r.Header.Set("X-Api-Key", "k")
	})
	if answer.StatusCode != 200 {
		t.Errorf("a proxy that passes on its client's headers gets %s %s", answer.Status, text)
	}
}

func TestForward(t *testing.T) {
	f := start(t, "", nil)
	f.decider.set(echo)
	send := func(method, path string, headers ...string) (*http.Response, string) {
		r, err := http.NewRequest(method, "http://"+f.HTTPAddr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Add(headers[i], headers[i+1])
		}
		return f.do(r, nil)
	}
	for _, tt := range []struct {
		name, path string
		headers    []string
		status     int
		want       string
	}{
		{"attributes of headers", "/v1/forward/api",
			[]string{"X-Forwarded-For", "192.0.2.1, 198.51.100.7", "X-Forwarded-Uri", "/a/b?c=d", "X-Api-Key", "k"}, 400,
			"ERR api hits 1 id  peek false | ip=198.51.100.7 path=/a/b api_key=k"},
		{"the last of several headers", "/v1/forward/api",
			[]string{"X-Forwarded-For", "192.0.2.1", "X-Forwarded-For", "198.51.100.7"}, 400, "| ip=198.51.100.7\""},
		{"none of the headers", "/v1/forward/api", nil, 400, "none of the headers"},
		{"another domain", "/v1/forward/other", []string{"X-Api-Key", "k"}, 404, `no domain \"other\"`},
		{"a domain without the word", "/v1/forward/silent", []string{"X-Api-Key", "k"}, 404,
			`the domain \"silent\" of the rules must have the word http`},
		{"another status", "/v1/forward/api?deny=200", []string{"X-Api-Key", "k"}, 400, "deny must be 403 or 429"},
	} {
		answer, body := send("GET", tt.path, tt.headers...)
		if answer.StatusCode != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, answer.StatusCode, body, tt.status, tt.want)
		}
	}
	for _, allowed := range []bool{true, false} {
		f.decider.set(func(context.Context, session.Call, *checks.Request) (*checks.Answer, error) {
			return answered(allowed), nil
		})
		for path, denied := range map[string]int{"/v1/forward/api": 429, "/v1/forward/api?deny=403": 403} {
			for _, method := range []string{"GET", "HEAD", "DELETE"} {
				want := statusOf(allowed, denied)
				answer, body := send(method, path, "X-Api-Key", "k")
				if answer.StatusCode != want || answer.Header.Get("X-RateLimit-Limit") != "3" ||
					(answer.Header.Get("Retry-After") == "2") == allowed {
					t.Errorf("%s %s: %d %v, want %d", method, path, answer.StatusCode, answer.Header, want)
				}
				var p problem
				if !allowed && method != "HEAD" &&
					(json.Unmarshal([]byte(body), &p) != nil || p.Status != want) || (allowed || method == "HEAD") && body != "" {
					t.Errorf("%s %s: the body is %q", method, path, body)
				}
			}
		}
	}
}

func TestAttribute(t *testing.T) {
	long := strings.Repeat("a", rules.MaxValueBytes)
	for _, tt := range []struct {
		key   string
		index int
		value string
		want  string
	}{
		{"ip", -1, "a, b ,  c ", "c"},
		{"ip", -2, "a, b ,  c ", "b"},
		{"ip", -4, "a, b, c", "a"},
		{"ip", -1, "a, b, ,, ", "b"},
		{"ip", -2, "a,,b", "a"},
		{"ip", -2, ", ,b,", "b"},
		{"ip", -1, `"a, b`, "b"},
		{"ip", -1, "", ""},
		{"ip", 0, " a, b ", "a, b"},
		{"agent", 0, long + "b", long},
		{"path", 0, "/login?user=a", "/login"},
		{"path", 0, "//lo%67in/", "/login/"},
		{"path", 0, "/a/./../login#x", "/login"},
		{"path", 0, "https://example.com:8080/login?x=http://b/", "/login"},
		{"path", 0, "https://example.com", "/"},
		{"path", 0, "/", "/"},
		{"path", 0, "/100%", "/100%"},
		{"path", 0, "", ""},
		{"uri", 0, "/login?user=a", "/login?user=a"},
	} {
		from := source.HeaderAttribute{Key: tt.key, Header: "X-H", Index: tt.index}
		if got, _ := attribute(http.Header{"X-H": {tt.value}}, &rules.Domain{}, &from); got != tt.want {
			t.Errorf("the attribute %s[%d] of %q is %q, want %q", tt.key, tt.index, tt.value, got, tt.want)
		}
	}
}

// TestForwardedPath: whatever form the word paths sets, an attribute path has no query, escapes or dots,
// and escapes are removed once.
func TestForwardedPath(t *testing.T) {
	for form, spellings := range map[string][]string{
		"plain":                 {"/login?x", "/%6Cogin"},
		"slash":                 {"/login?x", "/login/?x", "//login", "/%6Cogin/", "/a/../login"},
		"case":                  {"/Login?x", "/%4Cogin"},
		"params":                {"/login;v?x", "/..;/login", "/login%3Bv"},
		"all":                   {"/Login/;v?x", "/..;/login"},
		"[slash, case]":         {"/LOGIN/?x=1"},
		"[slash, params, case]": {"/..;/LOGIN/?x=1"},
	} {
		set, err := rules.Load([]source.File{{Text: []byte("{domain: api, http: {path: X-Uri}, paths: {path: " + form +
			"}, rules: [{name: r, match: {path: /login}, limits: 1/m}]}")}})
		if err != nil {
			t.Fatal(err)
		}
		d := set.Domain("api")
		for _, uri := range append(spellings, "/login", "/%256Cogin", strings.Repeat("/", rules.MaxValueBytes)+"login",
			strings.Repeat("/%2E", rules.MaxValueBytes)+"/login", "/login%253F") {
			value, _ := attribute(http.Header{"X-Uri": {uri}}, d, &d.HTTP[0])
			q := &rules.Request{Domain: []byte("api"),
				Descriptors: []rules.Descriptor{{Entries: []rules.Entry{{Key: []byte("path"), Value: []byte(value)}}}}}
			var r rules.Result
			if err := set.Match(q, nil, 0, &r); err != nil || r.Matched == strings.Contains(uri, "%25") {
				t.Errorf("paths %s: %.60q is matched: %v, %v", form, uri, r.Matched, err)
			}
		}
	}
}

// TestAttributeIsThere: an empty or missing header leaves an attribute out, but not an address and not
// a part of a list, because their rules hold for an empty value.
func TestAttributeIsThere(t *testing.T) {
	set, err := rules.Load([]source.File{{Text: []byte("{domain: api, http: {ip: X-Real-IP, key: X-Api-Key, peer: " +
		"'X-Peer[-1]'}}")}})
	if err != nil {
		t.Fatal(err)
	}
	d := set.Domain("api")
	for i, want := range []bool{true, false, true} {
		from := &d.HTTP[i]
		for _, empty := range []string{"", " ", ","} {
			wanted := want || empty == ","
			if _, ok := attribute(http.Header{http.CanonicalHeaderKey(from.Header): {empty}}, d, from); ok != wanted {
				t.Errorf("%s of %q is there: %v, want %v", from.Key, empty, ok, wanted)
			}
		}
		if _, ok := attribute(http.Header{}, d, from); ok != want {
			t.Errorf("%s without its header is there: %v, want %v", from.Key, ok, want)
		}
	}
}

func TestForwardedFor(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		index int
		want  string
	}{
		{[]string{`for=192.0.2.7;proto=http`}, -1, "192.0.2.7"},
		{[]string{`For="[2001:db8::a]:4711"`}, -1, `"[2001:db8::a]:4711"`},
		{[]string{`for=198.51.100.1, proto=https; for=192.0.2.7`}, -1, "192.0.2.7"},
		{[]string{`for=198.51.100.1`, `for=192.0.2.7`}, -1, "192.0.2.7"},
		{[]string{`for=198.51.100.1, for=192.0.2.7`}, -2, "198.51.100.1"},
		{[]string{`for=198.51.100.1`}, -2, "198.51.100.1"},
		{[]string{`host="x;for=198.51.100.1";for=192.0.2.7`}, -1, "192.0.2.7"},
		{[]string{`host="x,for=198.51.100.1";for=192.0.2.7`}, -1, `for=198.51.100.1";for=192.0.2.7`},
		{[]string{`for="198.51.100.1, for=192.0.2.7`}, -1, "192.0.2.7"},
		{[]string{`for=unknown`}, -1, "unknown"},
		{[]string{`proto=http`}, -1, "proto=http"},
	} {
		set, err := rules.Load([]source.File{{Text: []byte(fmt.Sprintf("{domain: api, http: {ip: 'Forwarded[%d]'}}",
			tt.index))}})
		if err != nil {
			t.Fatal(err)
		}
		d := set.Domain("api")
		if got, ok := attribute(http.Header{"Forwarded": tt.lines}, d, &d.HTTP[0]); got != tt.want || !ok {
			t.Errorf("the address [%d] of %q is %q, want %q", tt.index, tt.lines, got, tt.want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(`{"domain":"api","attributes":{"z":"1","a":"2"},"descriptors":[[["a","b"]]],"hits":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var in question
		if json.Unmarshal(body, &in) != nil {
			return
		}
		q, err := in.request()
		if err == nil && (q.Hits < 0 || len(q.Descriptors) < len(in.Descriptors)) {
			t.Errorf("the request of %q is %+v", body, q)
		}
	})
}
