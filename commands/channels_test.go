package commands

import (
	"strings"
	"testing"

	"limitsrv/commands/session"
)

// A reload closes the sessions with a subscription that their users may not have any more, and no
// other sessions.
func TestReloadClosesSubscribers(t *testing.T) {
	const ear = "  - name: ear\n    hash: \"#pw\"\n    groups: [pubsub]\n    keys: [\"*\"]\n    channels: [\"news:*\", " +
		"\"x\"]\n"
	for _, tt := range []struct {
		name, line, old, new string
		want                 bool
	}{
		{"nothing changes", "SUBSCRIBE news:a", "", "", false},
		{"another channel is lost", "SUBSCRIBE news:a", `, "x"`, "", false},
		{"the channel is lost", "SUBSCRIBE x news:a", `, "x"`, "", true},
		{"the channel has another pattern", "SUBSCRIBE news:a", `"news:*"`, `"news:?"`, false},
		{"the pattern is lost", "PSUBSCRIBE news:*", `"news:*"`, `"news:?"`, true},
		{"the pattern is covered by *", "PSUBSCRIBE news:*", `"news:*"`, `"*"`, false},
		{"the group is lost", "SUBSCRIBE x", "pubsub", "decide", true},
		{"the user is an admin now", "SUBSCRIBE x", "pubsub", "admin", false},
		{"no subscription", "PING", "pubsub", "decide", false},
	} {
		file := "users:\n" + ear
		h, err := newTestHandlerOf("", func() string { return withHashes(t, file) })
		if err != nil {
			t.Fatal(err)
		}
		closed := false
		s := loggedIn(t, h, "ear", session.Client{Close: func() { closed = true }})
		s.Do(words(tt.line))
		s.Flush()
		if strings.Contains(string(s.Out), "NOPERM") {
			t.Fatalf("%s: %s", tt.name, s.Out)
		}
		file = strings.Replace(file, tt.old, tt.new, 1)
		if err := h.ReloadUsers(); err != nil {
			t.Fatal(err)
		}
		if closed != tt.want {
			t.Errorf("%s: closed is %t, want %t", tt.name, closed, tt.want)
		}
	}
}

// A script publishes only for users that may publish to any channel, and a container needs the
// rights for its subcommands.
func TestScriptsNeedTheirRights(t *testing.T) {
	const of = "users:\n  - name: u\n    hash: \"#pw\"\n    keys: [\"*\"]\n"
	for _, tt := range []struct {
		rights, call string
		want         bool
	}{
		{"groups: [scripting]", "'PUBLISH', 'a', 'b'", false},
		{"groups: [scripting, pubsub]\n    channels: [a]", "'PUBLISH', 'a', 'b'", false},
		{"groups: [scripting, pubsub]\n    channels: [\"*\"]", "'PUBLISH', 'a', 'b'", true},
		{"groups: [admin]\n    channels: [a]", "'PUBLISH', 'a', 'b'", false},
		{"groups: [admin]", "'PUBLISH', 'a', 'b'", true},
		{"groups: [scripting, string]", "'OBJECT', 'ENCODING', KEYS[1]", false},
		{"groups: [scripting, string]", "'object', 'encoding', KEYS[1]", false},
		{"groups: [scripting, keyspace]", "'OBJECT', 'ENCODING', KEYS[1]", true},
		{"groups: [scripting, peek]", "'OBJECT', 'ENCODING', KEYS[1]", true},
	} {
		file := of + "    " + tt.rights + "\n"
		h, err := newTestHandlerOf("", func() string { return withHashes(t, file) })
		if err != nil {
			t.Fatal(err)
		}
		s := loggedIn(t, h, "u", session.Client{Close: func() {}})
		s.Do([][]byte{[]byte("EVAL"), []byte("return redis.call(" + tt.call + ")"), []byte("1"), []byte("k")})
		s.Flush()
		if got := !strings.Contains(string(s.Out), "NOPERM"); got != tt.want {
			t.Errorf("%s, %s: %q, permitted is %t, want %t", tt.rights, tt.call, s.Out, got, tt.want)
		}
	}
}
