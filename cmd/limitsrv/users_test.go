package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"limitsrv/internal/respclient"
)

// hashed returns the hash of a password made by the tool.
func hashed(t *testing.T, password string) string {
	t.Helper()
	tool := limitsrv(nil, "hash-password")
	tool.Stdin = strings.NewReader(password + "\n")
	stdout, stderr, code := runs(t, tool)
	if code != 0 || !strings.HasPrefix(stdout, "$argon2id$") || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("hash-password: %q, %q, exit %d", stdout, stderr, code)
	}
	return strings.TrimSpace(stdout)
}

// put replaces a file by a rename, as editors and deployments do.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// usersOf returns a users file with shop, in the group decide for keys of a pattern,
// and boss, in the group admin.
func usersOf(hash, pattern string) string {
	return "users:\n" +
		"  - name: shop\n    hash: " + hash + "\n    groups: [decide]\n    keys: [\"" + pattern + "\"]\n" +
		"  - name: boss\n    hash: " + hash + "\n    groups: [admin]\n    keys: [\"*\"]\n"
}

// Users are loaded from a file, and reloaded when it changes.
func TestUsers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	hash := hashed(t, "pw")
	put(t, path, usersOf(hash, "api:*"))
	r := serve(t, "--users", path)
	shop, boss := wired(t, r.address), wired(t, r.address)
	for _, step := range []struct{ line, want string }{
		{"RL.TOKEN api:1 10 1", "NOAUTH "},
		{"AUTH pw", "WRONGPASS "},
		{"AUTH shop pw", "OK"},
		{"RL.TOKEN web:1 10 1", "NOPERM "},
		{"RL.PEEK api:1", "NOPERM "},
		{"INFO server", "# Server"},
	} {
		if got := textOf(shop.do(t, step.line)); !strings.HasPrefix(got, step.want) {
			t.Errorf("reply to %s = %q, want %q", step.line, got, step.want)
		}
	}
	if got := textOf(boss.do(t, "AUTH boss pw")); got != "OK" {
		t.Fatal(got)
	}
	may := func(key string) bool { return !isError(shop.do(t, "RL.TOKEN "+key+" 10 1"), "NOPERM") }
	if !may("api:1") {
		t.Error("shop has no permission for api:1")
	}
	put(t, path, usersOf(hash, "web:*"))
	until(t, "a changed file is loaded", func() bool { return may("web:1") })

	put(t, path, usersOf("hunter2", "api:*"))
	until(t, "a wrong file is reported",
		func() bool { return strings.Contains(r.logged(), "users.yaml:3: a hash must be") })
	if got := textOf(boss.do(t, "ACL LOAD")); !strings.HasPrefix(got, "ERR ") || !strings.Contains(got, "users.yaml:3:") {
		t.Errorf("ACL LOAD of a wrong file = %q", got)
	}
	if strings.Contains(r.logged(), "hunter2") || strings.Contains(r.logged(), hash) {
		t.Errorf("the log has a secret:\n%s", r.logged())
	}
	if !may("web:1") {
		t.Error("a wrong file has changed the permissions")
	}
	put(t, path, usersOf(hash, "*"))
	if got := textOf(boss.do(t, "ACL LOAD")); got != "OK" || !may("zzz") {
		t.Errorf("ACL LOAD = %q, want OK and the new permissions at once", got)
	}
	before := strings.Count(r.logged(), "users loaded")
	if err := r.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	until(t, "SIGHUP reloads the file", func() bool { return strings.Count(r.logged(), "users loaded") > before })

	put(t, path, usersOf(hashed(t, "other"), "*"))
	until(t, "a user with a changed password is disconnected", func() bool {
		_, err := shop.all("PING")
		return err != nil
	})
	again := wired(t, r.address)
	if got := textOf(again.do(t, "AUTH shop pw")); !strings.HasPrefix(got, "WRONGPASS ") {
		t.Errorf("AUTH with the old password = %q", got)
	}
	if got := textOf(again.do(t, "AUTH shop other")); got != "OK" {
		t.Errorf("AUTH with the new password = %q", got)
	}
}

// textOf returns a reply that is a string or an error.
func textOf(reply any) string {
	if e, ok := reply.(respclient.Error); ok {
		return string(e)
	}
	text, _ := reply.(string)
	return text
}

// A users file protects a listener. With a mistake in the file the server exits with one
// line.
func TestUsersAreProtection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	hash := hashed(t, "pw")
	for _, tt := range []struct {
		name, file string
		args       []string
		want       string
	}{
		{"a wrong file", usersOf("hunter2", "*"), nil, "users.yaml:3: a hash must be"},
		{"no file", "", []string{"--users", path + "x"}, "no such file"},
		{"the default user and a password", strings.Replace(usersOf(hash, "*"), "shop", "default", 1),
			[]string{"--password", "x"}, "users.yaml:2: the user default"},
	} {
		put(t, path, tt.file)
		_, stderr, code := runs(t, limitsrv(nil, append([]string{"--listen", "0.0.0.0:0", "--users", path}, tt.args...)...))
		if code != exitFailure || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 ||
			strings.Contains(stderr, "hunter2") {
			t.Errorf("%s: %q, exit %d, want %q and %d", tt.name, stderr, code, tt.want, exitFailure)
		}
	}
	put(t, path, usersOf(hash, "*"))
	r := serve(t, "--users", path, "--unixsocket", filepath.Join(t.TempDir(), "s"))
	if got := textOf(wired(t, r.address).do(t, "PING")); !strings.HasPrefix(got, "NOAUTH ") {
		t.Errorf("reply to PING = %q", got)
	}
}

func TestHashPasswordRejects(t *testing.T) {
	for _, password := range []string{"", strings.Repeat("x", 2000)} {
		tool := limitsrv(nil, "hash-password")
		tool.Stdin = strings.NewReader(password + "\n")
		if stdout, stderr, code := runs(t, tool); code != exitFailure || stdout != "" ||
			!strings.Contains(stderr, "1 to 1024 bytes") {
			t.Errorf("a password of %d bytes: %q, %q, %d", len(password), stdout, stderr, code)
		}
	}
}
