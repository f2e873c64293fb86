package main

import (
	"bufio"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// An adminServer is a server with an admin listener.
type adminServer struct {
	*running
	url    string
	client *http.Client
}

var adminAddress = regexp.MustCompile(`msg="admin listener" addr=(\S+)`)

// startAdminServer starts a server with an admin listener, for requests over TLS if
// config is not nil.
func startAdminServer(t *testing.T, config *tls.Config, args ...string) *adminServer {
	t.Helper()
	a := &adminServer{running: serve(t, append([]string{"--admin", "127.0.0.1:0"}, args...)...)}
	until(t, "the admin listener listens", func() bool { return adminAddress.MatchString(a.logged()) })
	scheme := "http://"
	if config != nil {
		scheme = "https://"
	}
	a.url = scheme + adminAddress.FindStringSubmatch(a.logged())[1]
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	a.client = &http.Client{Transport: transport, Timeout: testwait.Scaled(wait)}
	return a
}

// asks sends a request, a POST if it has a body. An empty user sends no credentials.
func (a *adminServer) asks(t *testing.T, user, path, body string) (status int, answer string) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequest(method, a.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if name, password, ok := strings.Cut(user, ":"); ok {
		r.SetBasicAuth(name, password)
	}
	got, err := a.client.Do(r)
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, a.logged())
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return got.StatusCode, strings.TrimSpace(string(text))
}

// wants sends a request and compares the status and a part of the response.
func (a *adminServer) wants(t *testing.T, user, path, body string, status int, want string) {
	t.Helper()
	if got, text := a.asks(t, user, path, body); got != status || !strings.Contains(text, want) {
		t.Errorf("%s as %q = %d %s, want %d %s", path, user, got, text, status, want)
	}
}

func TestAdminListener(t *testing.T) {
	const me = "default:hunter2"
	a := startAdminServer(t, nil, "--password", "hunter2", "--data", t.TempDir())
	until(t, "it is ready", func() bool { status, _ := a.asks(t, "", "/readyz", ""); return status == 200 })
	conn := dial(t, "tcp", a.address)
	asks(t, conn, "AUTH hunter2\r\nRL.FIXED k 1 3650d\r\nRL.FIXED k 1 3650d\r\nRL.NONE\r\n", "+OK\r\n*5\r\n:1\r\n")
	until(t, "requests are counted", func() bool {
		_, text := a.asks(t, me, "/metrics", "")
		return strings.Contains(text, "\n"+`limitsrv_decisions_total{algorithm="fixed",outcome="denied"} 1`) &&
			strings.Contains(text, "\n"+`limitsrv_refused_total{reason="ERR"} 1`)
	})
	a.wants(t, me, "/metrics", "", 200, "\nlimitsrv_log_failing 0\n")
	a.wants(t, me, "/metrics", "", 200, "\nlimitsrv_decision_duration_seconds_count 2\n")
	a.wants(t, "", "/metrics", "", 401, "log in")
	a.wants(t, me, "/api/key?raw=aw", "", 200, `"remaining":0`)
	a.wants(t, me, "/api/reset", `{"raw":"aw"}`, 200, `{"forgotten":1}`)
	a.wants(t, me, "/api/key?raw=aw", "", 200, `{"found":false}`)
	a.wants(t, me, "/api/now", "", 200, `"FIXED":{"allowed":1,"denied":1}`)
	a.wants(t, me, "/debug/pprof/", "", 404, "")
	until(t, "the history has a value", func() bool {
		_, text := a.asks(t, me, "/api/history", "")
		return !strings.Contains(text, `"time_ms":[]`)
	})
	a.wants(t, "", "/livez", "", 200, "ok")
	a.Process.Signal(syscall.SIGTERM) // while the client is still connected
	if code := a.exit(t); code != exitOK || strings.Contains(a.logged(), "hunter2") ||
		strings.Contains(a.logged(), "WARN") {
		t.Errorf("exit %d, want 0 and no warning\n%s", code, a.logged())
	}
}

// An acknowledged reset survives a crash, because it is in the log.
func TestAdminResetIsDurable(t *testing.T) {
	for _, fsync := range []string{"always", "everysec"} {
		dir := t.TempDir()
		a := startAdminServer(t, nil, "--data", dir, "--fsync", fsync)
		until(t, "it is ready", func() bool { status, _ := a.asks(t, "", "/readyz", ""); return status == 200 })
		asks(t, dial(t, "tcp", a.address), "RL.FIXED k 5 3650d 5\r\n", "*5\r\n:1\r\n:5\r\n:0\r\n")
		a.wants(t, "", "/api/reset", `{"raw":"aw"}`, 200, `{"forgotten":1}`)
		a.Process.Kill()
		<-a.ended
		again := startAdminServer(t, nil, "--data", dir)
		until(t, "it is ready again", func() bool { status, _ := again.asks(t, "", "/readyz", ""); return status == 200 })
		again.wants(t, "", "/api/key?raw=aw", "", 200, `{"found":false}`)
	}
}

func TestAdminOfACluster(t *testing.T) {
	raft := freeAddress(t)
	nobody := freeAddress(t)
	lone := startAdminServer(t, nil, "--data", t.TempDir(), "--raft", raft, "--peers", raft+","+nobody)
	lone.wants(t, "", "/readyz", "", 503, "this node is not a member of a cluster yet")
	raft = freeAddress(t)
	a := startAdminServer(t, nil, "--data", t.TempDir(), "--raft", raft, "--peers", raft)
	until(t, "it is ready", func() bool { status, _ := a.asks(t, "", "/readyz", ""); return status == 200 })
	asks(t, dial(t, "tcp", a.address), "RL.FIXED k 1 3650d\r\n", "*5\r\n:1\r\n")
	a.wants(t, "", "/api/key?raw=aw", "", 200, `"remaining":0`)
	a.wants(t, "", "/api/reset", `{"raw":"aw"}`, 200, `{"forgotten":1}`)
	a.wants(t, "", "/metrics", "", 200, "\n"+`limitsrv_raft_role{role="leader"} 1`)
	a.wants(t, "", "/metrics", "", 200, "\nlimitsrv_raft_restarts_total 0\n")
	a.wants(t, "", "/api/now", "", 200, `"raft":"`+raft+`","leader":true,"voter":true,"online":true,"self":true,"lag":0`)
}

// A follower forwards admin requests to the leader, even if it redirects clients.
func TestAdminOfAFollower(t *testing.T) {
	rafts := []string{freeAddress(t), freeAddress(t)}
	var nodes []*adminServer
	for _, raft := range rafts {
		nodes = append(nodes, startAdminServer(t, nil, "--data", t.TempDir(), "--raft", raft, "--peers",
			strings.Join(rafts, ","), "--cluster-mode", "on"))
	}
	var leader, follower *adminServer
	until(t, "one leads and one follows", func() bool {
		for i, n := range nodes {
			_, role := n.asks(t, "", "/api/now", "")
			if ready, _ := nodes[1-i].asks(t, "", "/readyz", ""); strings.Contains(role, `"role":"leader"`) && ready == 200 {
				leader, follower = n, nodes[1-i]
				return true
			}
		}
		return false
	})
	asks(t, dial(t, "tcp", leader.address), "RL.FIXED k 5 3650d 5\r\n", "*5\r\n:1\r\n:5\r\n:0\r\n")
	until(t, "clients are redirected to the leader", func() bool {
		conn := dial(t, "tcp", follower.address)
		defer conn.Close()
		io.WriteString(conn, "RL.PEEK k\r\n")
		line, _ := bufio.NewReader(conn).ReadString('\n')
		return strings.HasPrefix(line, "-MOVED ")
	})
	follower.wants(t, "", "/api/key?raw=aw", "", 200, `"remaining":0`)
	follower.wants(t, "", "/api/reset", `{"raw":"aw"}`, 200, `{"forgotten":1}`)
	leader.wants(t, "", "/api/key?raw=aw", "", 200, `{"found":false}`)
	leader.wants(t, "", "/metrics", "", 200, "\n"+`limitsrv_raft_member_online{member="`+rafts[0]+`"} 1`)
}

// hashOf returns the hash of a password made by the tool.
func hashOf(t *testing.T, password string) string {
	t.Helper()
	command := limitsrv(nil, "hash-password")
	command.Stdin = strings.NewReader(password + "\n")
	out, log, code := runs(t, command)
	if code != exitOK {
		t.Fatalf("exit %d\n%s", code, log)
	}
	return strings.TrimSpace(out)
}

func TestAdminRightsOfUsers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	hash := hashOf(t, "pw")
	root := "users:\n- name: root\n  hash: " + hash + "\n  groups: [admin]\n  keys: ['*']\n"
	looks := root + "- name: looks\n  hash: " + hash + "\n  groups: [peek]\n  keys: ['api:*']\n"
	write(looks + "- name: app\n  hash: " + hash + "\n  groups: [decide]\n  keys: ['*']\n")
	a := startAdminServer(t, nil, "--users", file, "--admin-pprof")
	a.wants(t, "", "/api/now", "", 401, "log in first")
	a.wants(t, "looks:no", "/api/now", "", 401, "invalid username-password pair")
	for _, tt := range []struct {
		user, path, body string
		status           int
		want             string
	}{
		{"looks", "/api/session", "", 200, `"user":"looks","may":{"peek":true,"admin":false}`},
		{"looks", "/api/now", "", 200, `"ready":true`},
		{"looks", "/metrics", "", 200, "limitsrv_keys"},
		{"looks", "/api/key?raw=YXBpOjE", "", 200, `{"found":false}`},
		{"looks", "/api/key?raw=aw", "", 403, "no permissions to access"},
		{"looks", "/api/top?by=hot&window=minute&count=5", "", 403, "no permissions"},
		{"looks", "/api/keys?prefix=&cursor=0&count=5", "", 403, "no permissions"},
		{"looks", "/api/reset", `{"raw":"YXBpOjE"}`, 403, `user \"looks\" is not in the group admin`},
		{"looks", "/debug/pprof/heap", "", 403, "not in the group admin"},
		{"app", "/api/now", "", 403, "not in the group peek"},
		{"app", "/metrics", "", 403, "not in the group peek"},
		{"root", "/api/top?by=hot&window=minute&count=5", "", 200, `"keys":[]`},
		{"root", "/api/keys?prefix=&cursor=0&count=5", "", 200, `"keys":[]`},
		{"root", "/api/reset", `{"raw":"aw"}`, 200, `{"forgotten":0}`},
		{"root", "/debug/pprof/heap", "", 200, ""},
	} {
		a.wants(t, tt.user+":pw", tt.path, tt.body, tt.status, tt.want)
	}
	r, err := a.client.Post(a.url+"/api/login", "application/json", strings.NewReader(`{"user":"looks","password":"pw"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	asks := func() int {
		request, _ := http.NewRequest(http.MethodGet, a.url+"/api/now", nil)
		for _, c := range r.Cookies() {
			request.AddCookie(c)
		}
		got, err := a.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		io.Copy(io.Discard, got.Body)
		return got.StatusCode
	}
	if status := asks(); status != 200 {
		t.Errorf("status with a cookie = %d, want 200", status)
	}
	write(root)
	until(t, "a removed user is logged out", func() bool { return asks() == 401 })
	write(looks)
	until(t, "the user is restored",
		func() bool { status, _ := a.asks(t, "looks:pw", "/api/now", ""); return status == 200 })
	if status := asks(); status != 401 {
		t.Errorf("status with the old cookie = %d, want 401", status)
	}
}

func TestAdminOverTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	files := newTLSFiles(t, ca)
	args := []string{"--admin-tls", "--tls-cert", files.name("cert"), "--tls-key", files.name("key")}
	a := startAdminServer(t, ca.clientConfig(t), args...)
	a.wants(t, "", "/api/now", "", 200, `"ready":true`)
	files.certify(t, ca) // the next connection gets the new certificate
	mutual := startAdminServer(t, ca.clientConfigWithCert(t, ca, time.Now().Add(time.Hour)),
		append(args, "--tls-client-ca", files.name("ca"))...)
	mutual.wants(t, "", "/api/now", "", 200, `"ready":true`)
	for name, config := range map[string]*tls.Config{"none": ca.clientConfig(t),
		"one of others": ca.clientConfigWithCert(t, other, time.Now().Add(time.Hour))} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: testwait.Scaled(wait)}
		if answer, err := client.Get(mutual.url + "/livez"); err == nil {
			answer.Body.Close()
			t.Errorf("status with a certificate of %s = %d", name, answer.StatusCode)
		}
	}
}

func TestAdminOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no port", []string{"--admin", "127.0.0.1"}, "--admin must be HOST:PORT"},
		{"open to the network", []string{"--admin", "0.0.0.0:0"}, "can be reached from other machines"},
		{"open to the network with --unprotected", []string{"--admin", ":0", "--unprotected"},
			"can be reached from other machines"},
		{"TLS without a certificate", []string{"--admin", "127.0.0.1:0", "--admin-tls"}, "--admin-tls needs --tls-cert"},
		{"profiles without a listener", []string{"--admin-pprof"}, "give it --admin HOST:PORT"},
		{"key metrics without a listener", []string{"--admin-key-metrics"}, "give it --admin HOST:PORT"},
	} {
		_, log, code := runs(t, limitsrv(nil, tt.args...))
		if code != exitUsage || !strings.Contains(log, tt.want) {
			t.Errorf("%s: exit %d, %q, want 2 and %q", tt.name, code, log, tt.want)
		}
	}
	taken := startAdminServer(t, nil)
	_, log, code := runs(t, limitsrv(nil, "--listen", freeAddress(t), "--admin", strings.TrimPrefix(taken.url, "http://")))
	if code != exitFailure || !strings.Contains(log, "admin listener: ") ||
		!strings.Contains(log, "address already in use") {
		t.Errorf("a port in use: exit %d, %q, want 1 and the reason", code, log)
	}
}
