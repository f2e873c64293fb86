package admin

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// Paths that require the group peek, and paths that require admin.
var (
	readPaths = []string{"/metrics", "/api/now", "/api/history", "/api/key?raw=YQ", "/api/rules",
		"/api/match?domain=YQ&a=YQ.YQ"}
	adminPaths = []string{"/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/profile?seconds=1"}
)

func withPprof(c *Config) { c.Pprof = true }

func TestLoginRequired(t *testing.T) {
	f := serve(t, "secret", withPprof)
	f.execute("RL.FIXED a 10 day")
	refused := map[string]requestOption{
		"no login":              func(*http.Request) {},
		"an unknown cookie":     cookie(&http.Cookie{Name: f.logins.cookie, Value: "x"}),
		"an unsupported header": header("Authorization", "Bearer secret"),
		"a wrong password":      basic("default", "Secret"),
		"no password":           basic("default", ""),
		"another user":          basic("root", "secret"),
	}
	for i, path := range append(readPaths, adminPaths...) {
		if i == 1 { // attempts with wrong passwords are delayed
			maps.DeleteFunc(refused, func(name string, _ requestOption) bool {
				return strings.Contains(name, "password") || name == "another user"
			})
		}
		tool := !strings.HasPrefix(path, "/api/")
		for name, as := range refused {
			answer, text := f.request(path, "", as)
			asked := answer.Header.Get("WWW-Authenticate") != ""
			if answer.StatusCode != 401 || asked != tool || !strings.HasPrefix(text, `{"error":"`) ||
				strings.Contains(text, "secret") {
				t.Errorf("%s with %s: status %d %s, WWW-Authenticate: %v; want 401, %v", path, name, answer.StatusCode, text, asked,
					tool)
			}
		}
		if answer, text := f.request(path, "", basic("default", "secret")); answer.StatusCode != 200 {
			t.Errorf("%s returns %d %s, want 200", path, answer.StatusCode, text)
		}
	}
	for path, body := range changes {
		f.expect(path, body, 401, `{"error":"log in first"}`)
	}
	if strings.Contains(f.log.String(), "ecret") {
		t.Errorf("the log contains a password\n%s", f.log)
	}
}

func TestCookie(t *testing.T) {
	f := serve(t, "secret", nil)
	f.execute("RL.FIXED a 10 day")
	f.expect("/api/login", `{"user":"default","password":"no"}`, 401,
		`{"error":"invalid username-password pair or user is disabled."}`)
	answer, _ := f.request("/api/login", `{"user":"default","password":"secret"}`)
	cookies := answer.Cookies()
	if answer.StatusCode != 204 || len(cookies) != 1 {
		t.Fatalf("a login returns %d with cookies %v", answer.StatusCode, cookies)
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.Domain != "" ||
		c.MaxAge != 12*3600 || len(c.Value) != 43 {
		t.Errorf("the cookie is %v", c)
	}
	f.expect("/api/session", "", 200,
		`{"login_needed":true,"user":"default","may":{"peek":true,"admin":true},"version":"1.2.3"}`, cookie(c))
	f.expect("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":1}`, cookie(c))
	other, _ := f.request("/api/login", `{"user":"default","password":"secret"}`)
	if other.Cookies()[0].Value == c.Value {
		t.Error("two logins have the same cookie")
	}
	answer, _ = f.request("/api/logout", `{}`, cookie(c))
	if gone := answer.Cookies(); answer.StatusCode != 204 || len(gone) != 1 || gone[0].Value != "" ||
		gone[0].MaxAge != -1 {
		t.Errorf("a logout returns %d with %v", answer.StatusCode, gone)
	}
	f.expect("/api/reset", `{"raw":"YQ"}`, 401, `{"error":"log in first"}`, cookie(c))
	f.expect("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":0}`, cookie(other.Cookies()[0]))
}

func TestLoginsExpire(t *testing.T) {
	f := serve(t, "secret", nil)
	l, now := newLogins(f.Addr(), true), time.Now()
	with := func(c *http.Cookie) *http.Request {
		r := &http.Request{Header: http.Header{}}
		r.AddCookie(c)
		return r
	}
	first := l.create(f.account(), now)
	if !first.Secure || !strings.HasPrefix(first.Name, "__Host-limitsrv-") {
		t.Errorf("the cookie of TLS is %v", first)
	}
	if _, ok := l.lookup(with(first), now.Add(loginLifetime-1)); !ok {
		t.Error("a login expired too early")
	}
	if _, ok := l.lookup(with(first), now.Add(loginLifetime)); ok {
		t.Error("a login did not expire")
	}
	if _, ok := l.lookup(with(l.create(nil, now)), now); ok {
		t.Error("a removed user is still logged in")
	}
	first = l.create(f.account(), now)
	second := l.create(f.account(), now.Add(1))
	for i := range maxLogins - 1 {
		l.create(f.account(), now.Add(time.Duration(2+i)))
	}
	if len(l.byHash) != maxLogins {
		t.Errorf("%d logins, want %d", len(l.byHash), maxLogins)
	}
	if _, ok := l.lookup(with(first), now); ok {
		t.Error("the oldest login is still there")
	}
	if _, ok := l.lookup(with(second), now); !ok {
		t.Error("the second login is gone")
	}
	l.create(f.account(), now.Add(loginLifetime*2))
	if len(l.byHash) != 1 {
		t.Errorf("%d logins after all but one have expired", len(l.byHash))
	}
}

func TestOtherOriginsAreRejected(t *testing.T) {
	f := serve(t, "", withPprof)
	f.execute("RL.FIXED a 10 day")
	for _, host := range []string{"evil.example", "evil.example:80", "localhost.evil.example",
		"127.0.0.1.evil.example:9379"} {
		for _, path := range append(append([]string{"/api/session"}, readPaths...), adminPaths...) {
			f.expect(path, "", 403, `{"error":"no login is required here, so the host must be an address or localhost"}`,
				header("Host", host))
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:9379", "127.0.0.1", "[::1]:9379", "[::1]", "10.1.2.3:9379"} {
		if answer, text := f.request("/api/now", "", header("Host", host)); answer.StatusCode != 200 {
			t.Errorf("with host %s: status %d %s, want 200", host, answer.StatusCode, text)
		}
	}
	const other = `{"error":"the request comes from a page of another origin"}`
	for path, body := range changes {
		f.expect(path, body, 403, other, header("Origin", "http://evil.example"))
		f.expect(path, body, 403, other, header("Sec-Fetch-Site", "cross-site"))
		f.expect(path, body, 403, other, header("Sec-Fetch-Site", "same-site"))
		f.expect(path, body, 415, `{"error":"the body must be application/json"}`, header("Content-Type", "text/plain"))
	}
	f.expect("/api/login", `{"user":"default","password":""}`, 403, other, header("Origin", "http://evil.example"))
	f.expect("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":1}`, header("Origin", "http://"+f.Addr().String()))
	f.expect("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":0}`, header("Sec-Fetch-Site", "same-origin"))
	protected := serve(t, "secret", nil)
	if answer, _ := protected.request("/api/now", "", header("Host", "limits.example"),
		basic("default", "secret")); answer.StatusCode != 200 {
		t.Errorf("with a login and its own name as host: status %d, want 200", answer.StatusCode)
	}
}

func TestSecurityHeaders(t *testing.T) {
	f := serve(t, "", nil)
	for _, path := range []string{"/", "/api/now", "/api/nothing", "/metrics", "/livez"} {
		answer, _ := f.request(path, "")
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		} {
			if got := answer.Header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if strings.Contains(answer.Header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("the policy of %s allows unsafe resources", path)
		}
		if got := answer.Header.Get("Cache-Control"); path != "/" && got != "no-store" {
			t.Errorf("%s: Cache-Control is %q", path, got)
		}
	}
}

func TestProfilesAreOff(t *testing.T) {
	f := serve(t, "", nil)
	for _, path := range adminPaths {
		if answer, _ := f.request(path, ""); answer.StatusCode != 404 {
			t.Errorf("%s returns %d, want 404", path, answer.StatusCode)
		}
	}
	on := serve(t, "", withPprof)
	if answer, text := on.request("/debug/pprof/cmdline", ""); answer.StatusCode != 404 {
		t.Errorf("the command line is served: %d %s", answer.StatusCode, text)
	}
}

func TestPanicEndsOneRequest(t *testing.T) {
	f := serve(t, "", func(c *Config) {
		c.Page = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })
	})
	f.expect("/", "", 500, `{"error":"internal error"}`)
	if log := f.log.String(); !strings.Contains(log, "panic=broken") || !strings.Contains(log, "access_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", log)
	}
	f.expect("/livez", "", 200, "ok")
}

func TestBounds(t *testing.T) {
	f := serve(t, "", nil)
	long, err := http.NewRequest(http.MethodGet, "http://"+f.Addr().String()+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	long.Header.Set("X-Long", strings.Repeat("x", 2*maxHeaderBytes))
	// otherwise the connection was cut off while sending
	if answer, err := http.DefaultTransport.RoundTrip(long); err == nil {
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("long headers return %d, want 431", answer.StatusCode)
		}
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	var open []net.Conn
	for range maxConnectionsPerSite + 1 {
		conn, err := net.Dial("tcp", f.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		open = append(open, conn)
	}
	f.expect("/livez", "", 200, "ok")
	_ = open[0].SetReadDeadline(testwait.Soon(10 * time.Second))
	if n, err := open[0].Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("the oldest of too many reads %d bytes, %v, want the end", n, err)
	}
	io.WriteString(open[2], "GET /livez HTTP/1.0\r\n\r\n")
	if answer, err := io.ReadAll(open[2]); !strings.HasSuffix(string(answer), "ok\n") {
		t.Errorf("a connection within the bound reads %q, %v", answer, err)
	}
}

// Beyond a bound a new connection displaces a connection of its own site, if the site has
// reached its bound or has as many connections as any other. Otherwise it displaces a
// connection of the site with the most. Busy connections stay if there are idle
// connections.
func TestConnectionsAreDisplaced(t *testing.T) {
	b := newBoundedListener(nil, 4, 3, nil)
	var all []*boundedConn
	busy := func(i int) { all[i].markBusy() }
	for i, tt := range []struct {
		site string
		cut  int // index of the displaced connection; -1: no connection
		then func()
	}{
		{"a", -1, nil}, {"b", -1, nil}, {"a", -1, nil}, {"a", -1, nil}, // the bound of all
		{"a", 0, func() { busy(2) }},                   // the bound of site a
		{"c", 3, nil},                                  // a has most, and 2 is busy
		{"c", 4, func() { all[2].markIdle() }},         // a still has most
		{"d", 5, func() { busy(1); busy(2); busy(7) }}, // c has most
		{"c", 6, func() { busy(8) }},                   // each site has one connection: its own goes
		{"d", 7, nil},                                  // likewise, though it is busy
	} {
		c := &boundedConn{listener: b, site: tt.site}
		all = append(all, c)
		displaced := b.add(c)
		if at := slices.Index(all, displaced); displaced != nil && at != tt.cut || displaced == nil && tt.cut >= 0 {
			t.Errorf("connection %d, of %s: displaces %d, want %d", i, tt.site, at, tt.cut)
		}
		if tt.then != nil {
			tt.then()
		}
	}
	for range 2 {
		for _, c := range all {
			b.remove(c)
		}
	}
	if len(b.conns) != 0 || len(b.perSite) != 0 {
		t.Errorf("%d left, by site %v", len(b.conns), b.perSite)
	}
}

// Probes are answered, however many connections of their own address never send a complete
// request, or are kept open after a request.
func TestProbesBesideManyConnections(t *testing.T) {
	for _, tt := range []struct{ name, sent string }{
		{"silent connections", ""},
		{"incomplete headers", "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: "},
		{"incomplete bodies",
			"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"},
		{"kept-alive connections", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"},
	} {
		f := serve(t, "secret", nil)
		for range 400 {
			conn, err := net.Dial("tcp", f.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, tt.sent)
		}
		for range 20 {
			f.expect("/livez", "", 200, "ok")
			f.expect("/readyz", "", 200, "ready")
		}
	}
}

// Pending logins beyond the bound are rejected; probes and authenticated requests are
// not.
func TestLoginsAtOnceAreBounded(t *testing.T) {
	f := serve(t, "secret", nil)
	for i := range maxPendingLogins {
		f.Pending.Acquire(strconv.Itoa(i))
	}
	f.expect("/api/login", `{"user":"default","password":"secret"}`, 503, `{"error":"too many logins at once, try again"}`)
	f.expect("/livez", "", 200, "ok")
	f.Pending.Release("0")
	if answer, text := f.request("/api/login", `{"user":"default","password":"secret"}`); answer.StatusCode != 204 {
		t.Errorf("status %d %s", answer.StatusCode, text)
	}
	if n := f.Pending.Len(); n != maxPendingLogins-1 {
		t.Errorf("%d logins are pending, want %d", n, maxPendingLogins-1)
	}
	f.Pending.Acquire("0")
	if answer, text := f.request("/metrics", "", basic("default", "secret")); answer.StatusCode != 200 {
		t.Errorf("an authenticated request returns %d %s while others wait", answer.StatusCode, text)
	}
}

// Fifty pending logins of a site leave room for further logins of it.
func TestLoginsOfOneSite(t *testing.T) {
	f := serve(t, "secret", nil)
	for range 50 {
		f.Pending.Acquire("127.0.0.1")
	}
	if answer, text := f.request("/api/login", `{"user":"default","password":"secret"}`); answer.StatusCode != 204 {
		t.Errorf("status %d %s", answer.StatusCode, text)
	}
}

func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	withTLS := func(c *Config) {
		config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
		c.TLS = func() *tls.Config { return config }
	}
	f := serve(t, "secret", withTLS)
	pool := x509.NewCertPool()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(cert)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	answer, err := (&http.Client{Transport: transport}).Post("https://"+f.Addr().String()+"/api/login", "application/json",
		strings.NewReader(`{"user":"default","password":"secret"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != 204 || !answer.Cookies()[0].Secure || answer.TLS.Version < tls.VersionTLS12 {
		t.Errorf("a login returns %d with %v", answer.StatusCode, answer.Cookies())
	}
	named, err := http.NewRequest(http.MethodGet, "https://"+serve(t, "", withTLS).Addr().String()+"/api/now", nil)
	if err != nil {
		t.Fatal(err)
	}
	named.Host = "limits.example" // a browser would check it against the certificate
	if answer, err = transport.RoundTrip(named); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("with its name as host: status %d, want 200", answer.StatusCode)
	}
	plain, err := http.Get("http://" + f.Addr().String() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if plain.StatusCode != 400 {
		t.Errorf("without TLS: status %d, want 400", plain.StatusCode)
	}
}

// A request without a path is rejected without a panic.
func TestRequestsWithoutPath(t *testing.T) {
	f := serve(t, "secret", nil)
	for _, request := range []string{"GET http://127.0.0.1 HTTP/1.1", "CONNECT a:80 HTTP/1.1", "OPTIONS * HTTP/1.1"} {
		conn, err := net.Dial("tcp", f.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", request)
		answer, err := io.ReadAll(conn)
		if err != nil || len(answer) == 0 || strings.Contains(string(answer), " 500 ") {
			t.Errorf("%s returns %q, %v", request, answer, err)
		}
		conn.Close()
	}
	if strings.Contains(f.log.String(), "panic") {
		t.Errorf("a panic was logged\n%s", f.log)
	}
}
