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

	"limitsrv/commands"
)

// What only reads, and what does more.
var (
	readPaths  = []string{"/metrics", "/api/now", "/api/history", "/api/key?raw=YQ"}
	adminPaths = []string{"/debug/pprof/", "/debug/pprof/goroutine", "/debug/pprof/profile?seconds=1"}
)

func withPprof(c *Config) { c.Pprof = true }

func TestLoginIsNeeded(t *testing.T) {
	f := serve(t, "secret", withPprof)
	f.does("RL.FIXED a 10 day")
	refused := map[string]call{
		"nobody":               func(*http.Request) {},
		"a cookie of nobody":   cookie(&http.Cookie{Name: f.logins.cookie, Value: "x"}),
		"a header that is off": header("Authorization", "Bearer secret"),
		"a wrong password":     basic("default", "Secret"),
		"no password":          basic("default", ""),
		"somebody else":        basic("root", "secret"),
	}
	for i, path := range append(readPaths, adminPaths...) {
		if i == 1 { // those who try passwords are slowed
			maps.DeleteFunc(refused, func(name string, _ call) bool { return strings.Contains(name, "password") || name == "somebody else" })
		}
		tool := !strings.HasPrefix(path, "/api/")
		for name, as := range refused {
			answer, text := f.ask(path, "", as)
			asked := answer.Header.Get("WWW-Authenticate") != ""
			if answer.StatusCode != 401 || asked != tool || !strings.HasPrefix(text, `{"error":"`) || strings.Contains(text, "secret") {
				t.Errorf("%s as %s is answered %d %s, asks for a password: %v; want 401, %v", path, name, answer.StatusCode, text, asked, tool)
			}
		}
		if answer, text := f.ask(path, "", basic("default", "secret")); answer.StatusCode != 200 {
			t.Errorf("%s is answered %d %s, want 200", path, answer.StatusCode, text)
		}
	}
	f.wants("/api/reset", `{"raw":"YQ"}`, 401, `{"error":"log in first"}`)
	if strings.Contains(f.log.String(), "ecret") {
		t.Errorf("the log has a password in it\n%s", f.log)
	}
}

func TestCookie(t *testing.T) {
	f := serve(t, "secret", nil)
	f.does("RL.FIXED a 10 day")
	f.wants("/api/login", `{"user":"default","password":"no"}`, 401, `{"error":"invalid username-password pair or user is disabled."}`)
	answer, _ := f.ask("/api/login", `{"user":"default","password":"secret"}`)
	cookies := answer.Cookies()
	if answer.StatusCode != 204 || len(cookies) != 1 {
		t.Fatalf("a login is answered %d with cookies %v", answer.StatusCode, cookies)
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Secure || c.Path != "/" || c.Domain != "" || c.MaxAge != 12*3600 || len(c.Value) != 43 {
		t.Errorf("the cookie is %v", c)
	}
	f.wants("/api/session", "", 200, `{"login_needed":true,"user":"default","may":{"peek":true,"admin":true},"version":"1.2.3"}`, cookie(c))
	f.wants("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":1}`, cookie(c))
	other, _ := f.ask("/api/login", `{"user":"default","password":"secret"}`)
	if other.Cookies()[0].Value == c.Value {
		t.Error("two logins have one cookie")
	}
	answer, _ = f.ask("/api/logout", `{}`, cookie(c))
	if gone := answer.Cookies(); answer.StatusCode != 204 || len(gone) != 1 || gone[0].Value != "" || gone[0].MaxAge != -1 {
		t.Errorf("a logout is answered %d with %v", answer.StatusCode, gone)
	}
	f.wants("/api/reset", `{"raw":"YQ"}`, 401, `{"error":"log in first"}`, cookie(c))
	f.wants("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":0}`, cookie(other.Cookies()[0]))
}

func TestLoginsEnd(t *testing.T) {
	f := serve(t, "secret", nil)
	l, now := newLogins(f.Addr(), true), time.Now()
	with := func(c *http.Cookie) *http.Request {
		r := &http.Request{Header: http.Header{}}
		r.AddCookie(c)
		return r
	}
	first := l.create(f.as(), now)
	if !first.Secure || !strings.HasPrefix(first.Name, "__Host-limitsrv-") {
		t.Errorf("the cookie of TLS is %v", first)
	}
	if _, ok := l.lookup(with(first), now.Add(loginLifetime-1)); !ok {
		t.Error("a login ended before its time")
	}
	if _, ok := l.lookup(with(first), now.Add(loginLifetime)); ok {
		t.Error("a login did not end")
	}
	if _, ok := l.lookup(with(l.create(commands.Account{}, now)), now); ok {
		t.Error("a user who is gone is still logged in")
	}
	first = l.create(f.as(), now)
	second := l.create(f.as(), now.Add(1))
	for i := range maxLogins - 1 {
		l.create(f.as(), now.Add(time.Duration(2+i)))
	}
	if len(l.byHash) != maxLogins {
		t.Errorf("%d are logged in, want %d", len(l.byHash), maxLogins)
	}
	if _, ok := l.lookup(with(first), now); ok {
		t.Error("the oldest login is still there")
	}
	if _, ok := l.lookup(with(second), now); !ok {
		t.Error("the second login is gone")
	}
	l.create(f.as(), now.Add(loginLifetime*2))
	if len(l.byHash) != 1 {
		t.Errorf("%d are logged in when all but one have ended", len(l.byHash))
	}
}

func TestPagesOfOthersAreRefused(t *testing.T) {
	f := serve(t, "", withPprof)
	f.does("RL.FIXED a 10 day")
	for _, host := range []string{"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example:9379"} {
		for _, path := range append(append([]string{"/api/session"}, readPaths...), adminPaths...) {
			f.wants(path, "", 403, `{"error":"no login is required here, so the host must be an address or localhost"}`, header("Host", host))
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:9379", "127.0.0.1", "[::1]:9379", "[::1]", "10.1.2.3:9379"} {
		if answer, text := f.ask("/api/now", "", header("Host", host)); answer.StatusCode != 200 {
			t.Errorf("as %s it answers %d %s, want 200", host, answer.StatusCode, text)
		}
	}
	const other = `{"error":"the request comes from a page of another origin"}`
	f.wants("/api/reset", `{"raw":"YQ"}`, 403, other, header("Origin", "http://evil.example"))
	f.wants("/api/reset", `{"raw":"YQ"}`, 403, other, header("Sec-Fetch-Site", "cross-site"))
	f.wants("/api/reset", `{"raw":"YQ"}`, 403, other, header("Sec-Fetch-Site", "same-site"))
	f.wants("/api/login", `{"user":"default","password":""}`, 403, other, header("Origin", "http://evil.example"))
	f.wants("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":1}`, header("Origin", "http://"+f.Addr().String()))
	f.wants("/api/reset", `{"raw":"YQ"}`, 200, `{"forgotten":0}`, header("Sec-Fetch-Site", "same-origin"))
	protected := serve(t, "secret", nil)
	if answer, _ := protected.ask("/api/now", "", header("Host", "limits.example"), basic("default", "secret")); answer.StatusCode != 200 {
		t.Errorf("with a login it answers %d to its own name, want 200", answer.StatusCode)
	}
}

func TestHeadersTrustNobody(t *testing.T) {
	f := serve(t, "", nil)
	for _, path := range []string{"/", "/api/now", "/api/nothing", "/metrics", "/livez"} {
		answer, _ := f.ask(path, "")
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		} {
			if got := answer.Header.Get(name); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
		if strings.Contains(answer.Header.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s lets pages have what is unsafe", path)
		}
		if got := answer.Header.Get("Cache-Control"); path != "/" && got != "no-store" {
			t.Errorf("%s: Cache-Control is %q", path, got)
		}
	}
}

func TestProfilesAreOff(t *testing.T) {
	f := serve(t, "", nil)
	for _, path := range adminPaths {
		if answer, _ := f.ask(path, ""); answer.StatusCode != 404 {
			t.Errorf("%s is answered %d, want 404", path, answer.StatusCode)
		}
	}
	on := serve(t, "", withPprof)
	if answer, text := on.ask("/debug/pprof/cmdline", ""); answer.StatusCode != 404 {
		t.Errorf("the command line is told: %d %s", answer.StatusCode, text)
	}
}

func TestPanicEndsOneRequest(t *testing.T) {
	f := serve(t, "", func(c *Config) {
		c.Page = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") })
	})
	f.wants("/", "", 500, `{"error":"internal error"}`)
	if log := f.log.String(); !strings.Contains(log, "panic=broken") || !strings.Contains(log, "access_test.go") {
		t.Errorf("the log does not tell where: %s", log)
	}
	f.wants("/livez", "", 200, "ok")
}

func TestBounds(t *testing.T) {
	f := serve(t, "", nil)
	long, err := http.NewRequest(http.MethodGet, "http://"+f.Addr().String()+"/livez", nil)
	if err != nil {
		t.Fatal(err)
	}
	long.Header.Set("X-Long", strings.Repeat("x", 2*maxHeaderBytes))
	if answer, err := http.DefaultTransport.RoundTrip(long); err == nil { // else it was cut off while it came
		answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("long headers are answered %d, want 431", answer.StatusCode)
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
	f.wants("/livez", "", 200, "ok")
	_ = open[0].SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := open[0].Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("the oldest of too many reads %d bytes, %v, want the end", n, err)
	}
	io.WriteString(open[2], "GET /livez HTTP/1.0\r\n\r\n")
	if answer, err := io.ReadAll(open[2]); !strings.HasSuffix(string(answer), "ok\n") {
		t.Errorf("one that has room yet is answered %q, %v", answer, err)
	}
}

// Where there is no room, a connection that comes gets that of another: of its own site, if
// that has as many as it may or as any other, or of the one that has most. Those being
// answered stay, if others don't.
func TestRoomOfConnections(t *testing.T) {
	b := newBoundedListener(nil, 4, 3, nil)
	var all []*boundedConn
	busy := func(i int) { all[i].markBusy() }
	for i, tt := range []struct {
		site string
		cut  int // which one is displaced; -1: none
		then func()
	}{
		{"a", -1, nil}, {"b", -1, nil}, {"a", -1, nil}, {"a", -1, nil}, // all there may be
		{"a", 0, func() { busy(2) }},                   // a may not have more
		{"c", 3, nil},                                  // a has most, and 2 is being answered
		{"c", 4, func() { all[2].markIdle() }},         // a has most still
		{"d", 5, func() { busy(1); busy(2); busy(7) }}, // c has most
		{"c", 6, func() { busy(8) }},                   // all have one: its own
		{"d", 7, nil},                                  // likewise, though it is being answered
	} {
		c := &boundedConn{listener: b, site: tt.site}
		all = append(all, c)
		displaced := b.add(c)
		if at := slices.Index(all, displaced); displaced != nil && at != tt.cut || displaced == nil && tt.cut >= 0 {
			t.Errorf("connection %d, of %s: takes the room of %d, want of %d", i, tt.site, at, tt.cut)
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
		t.Errorf("%d are left, of %v", len(b.conns), b.perSite)
	}
}

// Connections of its own address that never send a whole request, or have sent one, keep
// no probe out.
func TestProbesGetThrough(t *testing.T) {
	for _, tt := range []struct{ name, sent string }{
		{"connections that say nothing", ""},
		{"headers that do not end", "GET /livez HTTP/1.1\r\nHost: x\r\nX-Slow: "},
		{"bodies that do not end", "POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"},
		{"connections that are kept", "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"},
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
			f.wants("/livez", "", 200, "ok")
			f.wants("/readyz", "", 200, "ready")
		}
	}
}

func TestPlacesBySite(t *testing.T) {
	b := newSiteLimiter(3, 2)
	for i, tt := range []struct {
		host string
		want bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"c", false}} {
		if got := b.acquire(tt.host); got != tt.want {
			t.Errorf("connection %d, of %s: taken is %v", i, tt.host, got)
		}
	}
	b.release("a")
	if !b.acquire("c") || b.acquire("a") {
		t.Error("the room of one who left is not that of another")
	}
	for _, host := range []string{"a", "b", "c"} {
		b.release(host)
	}
	if b.total != 0 || len(b.perSite) != 0 {
		t.Errorf("%d are left, of %v", b.total, b.perSite)
	}
}

// Who waits for a login keeps few from logging in, and nobody from a probe.
func TestLoginsAtOnceAreBounded(t *testing.T) {
	f := serve(t, "secret", nil)
	for i := range maxPendingLogins {
		f.pendingLogins.acquire(strconv.Itoa(i))
	}
	f.wants("/api/login", `{"user":"default","password":"secret"}`, 503, `{"error":"too many logins at once, try again"}`)
	f.wants("/livez", "", 200, "ok")
	f.pendingLogins.release("0")
	if answer, text := f.ask("/api/login", `{"user":"default","password":"secret"}`); answer.StatusCode != 204 {
		t.Errorf("it is answered %d %s", answer.StatusCode, text)
	}
	if n := f.pendingLogins.total; n != maxPendingLogins-1 {
		t.Errorf("%d log in, want %d", n, maxPendingLogins-1)
	}
	f.pendingLogins.acquire("0")
	if answer, text := f.ask("/metrics", "", basic("default", "secret")); answer.StatusCode != 200 {
		t.Errorf("who has logged in before is answered %d %s while others wait", answer.StatusCode, text)
	}
}

// Fifty of a site who wait for their guesses to be answered keep no other of it out.
func TestLoginsOfOneSite(t *testing.T) {
	f := serve(t, "secret", nil)
	for range 50 {
		f.pendingLogins.acquire("127.0.0.1")
	}
	if answer, text := f.ask("/api/login", `{"user":"default","password":"secret"}`); answer.StatusCode != 204 {
		t.Errorf("it is answered %d %s", answer.StatusCode, text)
	}
}

func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
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
	answer, err := (&http.Client{Transport: transport}).Post("https://"+f.Addr().String()+"/api/login", "application/json", strings.NewReader(`{"user":"default","password":"secret"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != 204 || !answer.Cookies()[0].Secure || answer.TLS.Version < tls.VersionTLS12 {
		t.Errorf("a login is answered %d with %v", answer.StatusCode, answer.Cookies())
	}
	named, err := http.NewRequest(http.MethodGet, "https://"+serve(t, "", withTLS).Addr().String()+"/api/now", nil)
	if err != nil {
		t.Fatal(err)
	}
	named.Host = "limits.example" // which a browser would hold against the certificate
	if answer, err = transport.RoundTrip(named); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		t.Errorf("by its name it answers %d, want 200", answer.StatusCode)
	}
	plain, err := http.Get("http://" + f.Addr().String() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if plain.StatusCode != 400 {
		t.Errorf("without TLS it answers %d, want 400", plain.StatusCode)
	}
}

// A request without a path is refused as any other, and not logged as a fault of ours.
func TestRequestsWithoutAPath(t *testing.T) {
	f := serve(t, "secret", nil)
	for _, request := range []string{"GET http://127.0.0.1 HTTP/1.1", "CONNECT a:80 HTTP/1.1", "OPTIONS * HTTP/1.1"} {
		conn, err := net.Dial("tcp", f.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n", request)
		answer, err := io.ReadAll(conn)
		if err != nil || len(answer) == 0 || strings.Contains(string(answer), " 500 ") {
			t.Errorf("%s is answered %q, %v", request, answer, err)
		}
		conn.Close()
	}
	if strings.Contains(f.log.String(), "panic") {
		t.Errorf("a panic was logged\n%s", f.log)
	}
}
