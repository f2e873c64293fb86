package users

import (
	"strings"
	"testing"
)

// A file of any bytes is parsed or rejected with a one-line error that names the file and
// repeats nothing of it.
func FuzzParse(f *testing.F) {
	f.Add(goodFile)
	f.Add("users:\n  - name: a\n    hash: hunter2hunter2\n")
	f.Add("users: [{name: a, keys: [a]}]")
	f.Add("users:\n  - &a {name: a}\n  - <<: *a\n")
	f.Add("? users\n: - name: !!binary aGk=\n")
	f.Add("users:\n  - name: |\n      a\n    keys: >\n      x\n")
	f.Fuzz(func(t *testing.T, text string) {
		const marker = "hunter2hunter2"
		table, err := Parse("f", []byte(text), "default")
		if err != nil {
			if told := err.Error(); !strings.HasPrefix(told, "f:") || strings.ContainsAny(told, "\r\n") ||
				strings.Contains(told, marker) {
				t.Fatalf("error %q", told)
			}
			return
		}
		if len(table.Users) == 0 {
			t.Fatal("no users")
		}
		for _, u := range table.Users {
			if u.Name == "" || u.Name == "default" || u.Groups == 0 || len(u.Keys) == 0 || len(u.hashes) == 0 {
				t.Fatalf("user %+v", u)
			}
		}
	})
}

// An accepted hash costs no more than its bounds.
func FuzzHash(f *testing.F) {
	f.Add(argonOfSecret)
	f.Add(bcryptOfSecret)
	f.Add("$argon2id$v=19$m=262144,t=4,p=16$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHash(text)
		if err != nil {
			if err != errForm && err != errArgon2 && err != errBcrypt {
				t.Fatal(err)
			}
			return
		}
		if a := h.argon; a != nil &&
			(a.memory > maxMemory || a.passes > maxPasses || a.memory*a.passes > maxWork || a.threads > maxThreads) {
			t.Fatalf("%q costs %+v", text, a)
		}
		if a := h.argon; a != nil && a.memory*a.passes <= 64 || a == nil && text[4:6] == "04" {
			h.matches([]byte("x")) // does not panic
		}
	})
}
