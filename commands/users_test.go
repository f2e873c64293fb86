package commands

import (
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"testing"

	"golang.org/x/crypto/argon2"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/session"
)

// quickHash returns a hash of minimal cost.
func quickHash(password string) string {
	salt := []byte("saltsalt")
	sum := argon2.IDKey([]byte(password), salt, 1, 8, 1, 16)
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=19$m=8,t=1,p=1$%s$%s", b64.EncodeToString(salt), b64.EncodeToString(sum))
}

var hashOf = regexp.MustCompile(`#\w+`)

// withHashes returns a users file with quick hashes of the words after #.
func withHashes(t *testing.T, text string) string {
	t.Helper()
	return hashOf.ReplaceAllStringFunc(text, func(word string) string { return quickHash(word[1:]) })
}

// newTestHandlerOf returns a test server with the users of a file.
func newTestHandlerOf(password string, file func() string) (*session.Handler, error) {
	var reserved []string
	if password != "" {
		reserved = []string{auth.DefaultUser}
	}
	load := func() (*users.Table, error) { return users.Parse("users.yaml", []byte(file()), reserved...) }
	t, err := load()
	if err != nil {
		return nil, err
	}
	return newTestHandlerWith(session.Config{Password: password, Users: t, LoadUsers: load,
		Log: slog.New(slog.DiscardHandler)}), nil
}
