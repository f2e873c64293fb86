package users

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

const (
	// ofSecret are hashes of the word secret, of little cost.
	argonOfSecret  = "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$+RsCrdHrAKGEJIDLM0Esow"
	bcryptOfSecret = "$2a$04$iv92wXzv2ovepeQB.xGq2ugMx0feKRw8NOL1X92y6.1QEDoK4BBIS"
)

const goodFile = `# who may
users:
  - name: shop
    hash: $argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA
    groups: [decide, peek]
    keys: ["api:*", web]
  - name: boss
    hashes:
      - $2a$04$iv92wXzv2ovepeQB.xGq2ugMx0feKRw8NOL1X92y6.1QEDoK4BBIS
      - "$2y$10$iv92wXzv2ovepeQB.xGq2ugMx0feKRw8NOL1X92y6.1QEDoK4BBIS"
    groups: [admin]
    keys: ["*"]
    enabled: false
`

func TestParse(t *testing.T) {
	table, err := Parse("f", []byte(goodFile))
	if err != nil {
		t.Fatal(err)
	}
	shop, boss := table.Find("shop"), table.Find("boss")
	switch {
	case len(table.Users) != 2 || shop == nil || boss == nil || table.Find("nobody") != nil:
		t.Fatalf("users %+v", table.Users)
	case shop.Groups != Decide|Peek || !shop.Enabled || strings.Join(shop.Keys, " ") != "api:* web" || shop.Hashes() != 1:
		t.Errorf("shop is %+v", shop)
	case boss.Groups != Admin || boss.Enabled || boss.Hashes() != 2:
		t.Errorf("boss is %+v", boss)
	case shop.SameSecret(boss) || !boss.SameSecret(boss):
		t.Error("SameSecret does not tell secrets apart")
	}
}

// Each error has its line, and contains nothing of the file.
func TestErrors(t *testing.T) {
	const user = "users:\n  - name: a\n    hash: " + bcryptOfSecret + "\n    groups: [peek]\n    keys: [a]\n"
	for _, tt := range []struct{ name, file, want string }{
		{"nothing", "", "f:1: the file must be one YAML document"},
		{"no users", "users: []", "f:1: users must have 1 to 4096 elements, got 0"},
		{"users that are no list", "users: 5", "f:1: users must be a list"},
		{"another field", "user: []", "f:1: the only field must be users, a list"},
		{"a second field", user + "more: 1\n", "f:1: the only field"},
		{"two documents", user + "---\n" + user, "f:7: the file must be one YAML document"},
		{"no YAML", "users:\n  - name: [a\n", "f:2: invalid YAML"},
		{"an alias", strings.Replace(user, "[a]", "[&hunter2 a, *hunter2]", 1), "f:5: an element of keys"},
		{"a star without quotes", "users:\n  - name: a\n    keys: [*]\n", "f:3: invalid YAML"},
		{"an unknown field", user + "    hunter2: true\n", "f:6: unknown field"},
		{"a field twice", user + "    enabled: true\n    enabled: true\n", "f:"},
		{"a user that is no mapping", "users:\n  - 5\n", "f:2: expected fields"},
		{"no name", strings.Replace(user, "name: a", "enabled: true", 1), "f:2: a user must have a name"},
		{"an empty name", strings.Replace(user, "name: a", `name: ""`, 1), "f:2: name must be"},
		{"a name with a space", strings.Replace(user, "name: a", `name: a b`, 1), "f:2: name must be"},
		{"a name that is a number", strings.Replace(user, "name: a", `name: 5`, 1), "f:2: name must be"},
		{"a name twice", user + strings.TrimPrefix(user, "users:\n"), "f:6: duplicate user name, first used at line 2"},
		{"a reserved name", strings.Replace(user, "name: a", "name: default", 1), "f:2: the user default has its password"},
		{"no hash", strings.Replace(user, "    hash: "+bcryptOfSecret+"\n", "", 1), "f:2: a user must have a hash"},
		{"an invalid hash", strings.Replace(user, bcryptOfSecret, "hunter2", 1), "f:3: a hash must be"},
		{"a hash that is no text", strings.Replace(user, bcryptOfSecret, "5", 1), "f:3: a hash must be"},
		{"hash and hashes", user + "    hashes: [hunter2]\n", "f:6: hash and hashes exclude"},
		{"too many hashes", strings.Replace(user, "hash: "+bcryptOfSecret, "hashes: [a, b, c, d, e]", 1),
			"f:3: hashes must have 1 to 4"},
		{"no groups", strings.Replace(user, "    groups: [peek]\n", "", 1), "f:2: a user must have groups"},
		{"an unknown group", strings.Replace(user, "[peek]", "[peek,\n      hunter2]", 1), "f:5: unknown group"},
		{"a group twice", strings.Replace(user, "[peek]", "[peek, peek]", 1), "f:4: duplicate group"},
		{"no keys", strings.Replace(user, "    keys: [a]\n", "", 1), "f:2: a user must have keys"},
		{"an empty key", strings.Replace(user, "[a]", `[a, ""]`, 1), "f:5: an element of keys"},
		{"enabled that is text", user + "    enabled: hunter2\n", "f:6: enabled must be true or false"},
		{"many brackets", "users: " + strings.Repeat("[", 500_000), "f:1: invalid YAML: exceeded max depth"},
		{"many dashes", "users:\n" + strings.Repeat("- ", 100_000), "f:2: invalid YAML: exceeded max depth"},
		{"many dashes below each other", "users:\n" + strings.Repeat("-\n", 500_000),
			"f:2: users must have 1 to 4096 elements, got 500000"},
		{"an alias of nothing", "users: *hunter2\n", "f:1: invalid YAML: unknown anchor referenced"},
	} {
		_, err := Parse("f", []byte(tt.file), "default")
		switch {
		case err == nil || !strings.HasPrefix(err.Error(), tt.want):
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		case strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), bcryptOfSecret):
			t.Errorf("%s: %v repeats text of the file", tt.name, err)
		}
	}
}

func TestParseHash(t *testing.T) {
	const salt, sum = "c2FsdHNhbHQ", "AAAAAAAAAAAAAAAAAAAAAA"
	for _, tt := range []struct {
		name, text string
		want       error
	}{
		{"argon2id", "$argon2id$v=19$m=19456,t=2,p=1$" + salt + "$" + sum, nil},
		{"as large as may be", "$argon2id$v=19$m=262144,t=4,p=16$" + salt + "$" + sum, nil},
		{"too much memory", "$argon2id$v=19$m=262145,t=1,p=1$" + salt + "$" + sum, errArgon2},
		{"too many passes", "$argon2id$v=19$m=64,t=17,p=1$" + salt + "$" + sum, errArgon2},
		{"too much of both", "$argon2id$v=19$m=262144,t=5,p=1$" + salt + "$" + sum, errArgon2},
		{"no pass", "$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + sum, errArgon2},
		{"no thread", "$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + sum, errArgon2},
		{"too many threads", "$argon2id$v=19$m=4096,t=1,p=17$" + salt + "$" + sum, errArgon2},
		{"too little memory", "$argon2id$v=19$m=15,t=1,p=2$" + salt + "$" + sum, errArgon2},
		{"more than 32 bits", "$argon2id$v=19$m=4294967304,t=1,p=1$" + salt + "$" + sum, errForm},
		{"a short salt", "$argon2id$v=19$m=64,t=1,p=1$c2FsdA$" + sum, errArgon2},
		{"a short hash", "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$c2FsdA", errArgon2},
		{"padding", "$argon2id$v=19$m=64,t=1,p=1$" + salt + "=$" + sum, errForm},
		{"another version", "$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + sum, errForm},
		{"another order", "$argon2id$v=19$t=1,m=64,p=1$" + salt + "$" + sum, errForm},
		{"argon2i", "$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + sum, errForm},
		{"trailing bytes", "$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + sum + "$", errForm},
		{"bcrypt", bcryptOfSecret, nil},
		{"bcrypt of PHP", strings.Replace(bcryptOfSecret, "$2a", "$2y", 1), nil},
		{"expensive bcrypt", strings.Replace(bcryptOfSecret, "$04", "$15", 1), errBcrypt},
		{"cheap bcrypt", strings.Replace(bcryptOfSecret, "$04", "$03", 1), errBcrypt},
		{"short bcrypt", bcryptOfSecret[:59], errForm},
		{"bcrypt with another sign", bcryptOfSecret[:59] + "!", errForm},
		{"plain text", "secret", errForm},
		{"nothing", "", errForm},
		{"a hash of something else", "$6$saltsalt$abc", errForm},
	} {
		if _, err := parseHash(tt.text); err != tt.want {
			t.Errorf("%s: parseHash(%q) says %v, want %v", tt.name, tt.text, err, tt.want)
		}
	}
}

func TestCheck(t *testing.T) {
	made, err := Hash([]byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{made, argonOfSecret, bcryptOfSecret, strings.Replace(bcryptOfSecret, "$2a", "$2b", 1)} {
		h, err := parseHash(text)
		if err != nil {
			t.Fatal(err)
		}
		other, err := parseHash(argonOfSecret[:len(argonOfSecret)-2] + "AA")
		if err != nil {
			t.Fatal(err)
		}
		u := &User{hashes: []hash{other, h}}
		if !u.Check([]byte("secret")) || u.Check([]byte("Secret")) || u.Check(nil) || u.Check([]byte("secret ")) {
			t.Errorf("%s does not tell passwords apart", text)
		}
	}
	for _, password := range []string{"", strings.Repeat("x", MaxPasswordBytes+1)} {
		if _, err := Hash([]byte(password)); err == nil {
			t.Errorf("a password of %d bytes is hashed", len(password))
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users.yaml")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v", err)
	}
	write(t, path, goodFile)
	if _, err := Load(path); err != nil {
		t.Error(err)
	}
	write(t, path, strings.Repeat("#", maxFileBytes+1))
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "at most 1048576 bytes") {
		t.Errorf("a large file: %v", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(pipe); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Watch reports a file that is written in place, renamed over, replaced behind a symbolic
// link, or removed; not a file that is only touched.
func TestWatch(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "users.yaml")
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, version, "users.yaml"), goodFile+"# "+version)
	}
	turn := func(version string) { // as Kubernetes mounts do
		t.Helper()
		if err := os.Symlink(version, filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "data")); err != nil {
			t.Fatal(err)
		}
	}
	turn("v1")
	if err := os.Symlink("data/users.yaml", path); err != nil {
		t.Fatal(err)
	}
	table, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	changed, over := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(over)
		Watch(ctx, path, table, time.Millisecond, func() {
			data, _ := os.ReadFile(path)
			changed <- string(data)
		})
	}()
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"a replaced link", func() { turn("v2") }, goodFile + "# v2"},
		{"a rename", func() {
			write(t, filepath.Join(dir, "next"), goodFile)
			if err := os.Rename(filepath.Join(dir, "next"), filepath.Join(dir, "v2", "users.yaml")); err != nil {
				t.Fatal(err)
			}
		}, goodFile},
		{"the same once more, and then nothing", func() {
			write(t, filepath.Join(dir, "same"), goodFile)
			if err := os.Rename(filepath.Join(dir, "same"), filepath.Join(dir, "v2", "users.yaml")); err != nil {
				t.Fatal(err)
			}
			os.Remove(path)
		}, ""},
	} {
		step.do()
		select {
		case got := <-changed:
			if got != step.want {
				t.Errorf("%s: the file says %q, want %q", step.name, got, step.want)
			}
		case <-time.After(testwait.Scaled(30 * time.Second)):
			t.Fatalf("%s is not seen", step.name)
		}
	}
	cancel()
	<-over
	if len(changed) > 0 {
		t.Errorf("%d changes too many", len(changed))
	}
}
