package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rulesFile writes a file of rules and returns its name.
func rulesFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "api.yaml")
	put(t, name, text)
	return name
}

// TestPushRules changes the rules of a server with the tool, step by step.
func TestPushRules(t *testing.T) {
	r := serve(t)
	to := r.address
	const okOne, okTwo = "ok: 1 domain, 1 rule, 1 limit\n", "ok: 1 domain, 2 rules, 2 limits\n"
	for _, step := range []struct {
		name, rules string
		args        []string
		code        int
		out, log    string
	}{
		{"the first rules", "[{name: login, per: [ip], limits: 5/minute}]", []string{"push", "--to"}, 0,
			okOne + "added   api login/slide-1m: 5/1m slide\nagainst ADDRESS, version 0: 1 limit added, 0 changed, 0 removed, " +
				"0 restarted; it has no rules\nloaded: version 1\n", ""},
		{"the same", "[{name: login, per: [ip], limits: 5/minute}]", []string{"push", "--to"}, 0,
			okOne + "against ADDRESS, version 1: the same text\nunchanged: version 1\n", ""},
		{"another number is only shown", "[{name: login, per: [ip], limits: 6/minute}]", []string{"check", "--against"}, 0,
			okOne + "changed api login/slide-1m: 6/1m slide, was 5/1m slide\nagainst ADDRESS, version 1: 0 limits added, 1 " +
				"changed, 0 removed, 0 restarted\n", ""},
		{"another algorithm, and a rule", "[{name: login, per: [ip], limits: 6/minute token}, {name: posts, limits: 9/s, " +
			"shadow: true}]", []string{"push", "--note", "two words", "--to"}, 0,
			okTwo + "changed api login/token-1m: 6/1m token, was 5/1m slide; counters start full\nadded   api posts/slide-1s: " +
				"9/1s slide shadow\n" +
				"against ADDRESS, version 1: 1 limit added, 1 changed, 0 removed, 1 restarted\nloaded: version 2\n", ""},
		{"one removed, the other for some requests",
			"[{name: login, match: {path: /login}, per: [ip], limits: 6/minute token}]", []string{"push", "--to"}, 0,
			okOne + "changed api login/token-1m: 6/1m token, for other requests or with another penalty\nremoved api " +
				"posts/slide-1s: 9/1s slide shadow\n" +
				"against ADDRESS, version 2: 0 limits added, 1 changed, 1 removed, 0 restarted\nloaded: version 3\n", ""},
		{"a comment", "[{name: login, match: {path: /login}, per: [ip], limits: 6/minute token}] # a",
			[]string{"push", "--to"}, 0,
			okOne + "against ADDRESS, version 3: other text, the same limits\nloaded: version 4\n", ""},
		{"a mistake", "[{name: login, limits: 5 a minute}]", []string{"push", "--to"}, 1, "",
			"api.yaml:2: a limit must be COUNT/WINDOW"},
	} {
		file := rulesFile(t, "domain: api\nrules: "+step.rules+"\n")
		out, log, code := runs(t, limitsrv(nil, append(append([]string{"rules"}, step.args...), to, file)...))
		if want := strings.ReplaceAll(step.out, "ADDRESS", to); code != step.code || out != want ||
			!strings.Contains(log, step.log) {
			t.Errorf("%s: exit %d\n%s%s\nwant %d\n%s%s", step.name, code, out, log, step.code, want, step.log)
		}
	}
	if got := fmt.Sprint(wired(t, to).do(t, "RL.RULES HISTORY")); strings.Count(got, "two words") != 1 {
		t.Errorf("the history has not the note: %s", got)
	}
}

// TestRulesAddress names servers by addresses without a port.
func TestRulesAddress(t *testing.T) {
	file := rulesFile(t, "domain: api\nrules: [{name: login, limits: 5/s}]\n")
	for _, args := range [][]string{{"push", "--to"}, {"check", "--against"}} {
		out, log, code := runs(t, limitsrv(nil, append(append([]string{"rules"}, args...), "localhost", file)...))
		if code != exitUsage || out != "" || !strings.Contains(log, `must be HOST:PORT or unix:PATH, got "localhost"`) {
			t.Errorf("%q: exit %d, %q, %q", args, code, out, log)
		}
	}
}

// TestPushRulesOnlyOver replaces the rules between the comparison and the load.
func TestPushRulesOnlyOver(t *testing.T) {
	r := serve(t)
	conn, err := new(remoteOptions).connect(r.address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if version, err := loadOver(conn, 0, "", []byte("domain: api\n")); version != 1 || err != nil {
		t.Fatalf("the first load: version %d, %v", version, err)
	}
	if version, err := loadOver(conn, 0, "", []byte("domain: other\n")); err == nil ||
		!strings.Contains(err.Error(), "rules are at version 1, not 0") {
		t.Errorf("a load over an older version: version %d, %v", version, err)
	}
	text := "domain: api\n" + strings.Repeat("# a comment\n", 3*rulesPart/12)
	if version, err := loadOver(conn, 1, "", []byte(text)); version != 2 || err != nil {
		t.Errorf("a text of several parts: version %d, %v", version, err)
	}
	if s, err := servedRules(conn); s.text != text || s.version != 2 || err != nil {
		t.Errorf("the text of several parts has %d bytes in version %d, %v", len(s.text), s.version, err)
	}
}

// TestPushRulesWithoutAnswer: a server that ends the connection may have loaded the rules.
func TestPushRulesWithoutAnswer(t *testing.T) {
	near, far := net.Pipe()
	go func() {
		far.Read(make([]byte, 1<<10))
		far.Close()
	}()
	_, err := loadOver(&client{near, bufio.NewReader(near)}, 0, "", []byte("domain: api\n"))
	if err == nil || !strings.Contains(err.Error(), "may or may not be loaded") {
		t.Errorf("the error is %v", err)
	}
}

// TestPushRulesConnections connects with logins and certificates, and to no server.
func TestPushRulesConnections(t *testing.T) {
	users := filepath.Join(t.TempDir(), "users.yaml")
	hash := hashed(t, "pw")
	put(t, users, usersOf(hash, "*")+"  - name: editor\n    hash: "+hash+"\n    groups: [rules]\n    keys: [\"*\"]\n")
	ca, other := newAuthority(t), newAuthority(t)
	files, secure := newTLSFiles(t, ca), freeAddress(t)
	socket := filepath.Join(t.TempDir(), "socket")
	r := serve(t, append(files.tlsArgs(secure), "--users", users, "--unixsocket", socket, "--tls-client-ca",
		files.name("ca"))...)
	client := newTLSFiles(t, ca)
	wrong := filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(wrong, other.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	overTLS := []string{"--to", secure, "--user", "editor", "--tls", "--tls-cert", client.name("cert"), "--tls-key",
		client.name("key"), "--tls-ca"}
	file := rulesFile(t, "domain: api\nrules: [{name: a, limits: 5/minute}]\n")
	for _, tt := range []struct {
		name     string
		args     []string
		password string
		code     int
		want     string
	}{
		{"without a login", []string{"--to", r.address}, "", 1, "NOAUTH "},
		{"a wrong password", []string{"--to", r.address, "--user", "editor"}, "wrong", 1, "WRONGPASS "},
		{"a user without the group", []string{"--to", r.address, "--user", "shop"}, "pw", 1, "NOPERM "},
		{"a user with the group", []string{"--to", r.address, "--user", "editor"}, "pw", 0, "loaded: version 1"},
		{"over a unix socket", []string{"--to", "unix:" + socket, "--user", "editor"}, "pw", 0, "unchanged: version 1"},
		{"over TLS", append(overTLS, files.name("ca")), "pw", 0, "unchanged: version 1"},
		{"over TLS, of another authority", append(overTLS, wrong), "pw", 1, "certificate signed by unknown authority"},
		{"over TLS, without a certificate of the client", []string{"--to", secure, "--tls", "--tls-ca", files.name("ca"),
			"--user", "editor"}, "pw", 1, "certificate required"},
		{"no server", []string{"--to", freeAddress(t)}, "", 1, "connection refused"},
		{"no address", nil, "", 2, "missing flags: --to=HOST:PORT"},
		{"a user without a password", []string{"--to", r.address, "--user", "editor"}, "", 2, "--user needs a password"},
		{"a CA without TLS", []string{"--to", r.address, "--tls-ca", wrong}, "", 2, "need --tls"},
		{"a certificate without its key", []string{"--to", r.address, "--tls", "--tls-cert", wrong}, "", 2,
			"must be given together"},
	} {
		var settings []string
		if tt.password != "" {
			settings = []string{"LIMITSRV_PASSWORD=" + tt.password}
		}
		out, log, code := runs(t, limitsrv(settings, append([]string{"rules", "push", file}, tt.args...)...))
		if code != tt.code || !strings.Contains(out+log, tt.want) {
			t.Errorf("%s: exit %d, %q, %q, want %d and %q", tt.name, code, out, log, tt.code, tt.want)
		}
	}
}

// TestPushRulesElsewhere connects to a server of another protocol.
func TestPushRulesElsewhere(t *testing.T) {
	a := startAdminServer(t, nil)
	file := rulesFile(t, "domain: api\n")
	_, log, code := runs(t, limitsrv(nil, "rules", "push", file, "--to", strings.TrimPrefix(a.url, "http://")))
	if code != exitFailure || !strings.Contains(log, "no server that speaks the Redis protocol") {
		t.Errorf("exit %d, %q", code, log)
	}
}
