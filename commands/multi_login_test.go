package commands

import (
	"strings"
	"testing"
	"time"

	"limitsrv/commands/auth/users"
	"limitsrv/commands/session"
)

// TestLoginsOfExec: EXEC waits for the checks of its passwords, one at a time, and the session
// accepts nothing meanwhile. After a change of a watched key nobody is logged in.
func TestLoginsOfExec(t *testing.T) {
	file := withHashes(t, ourUsers)
	for _, tt := range []struct {
		name, before, inside, after string
		changes                     bool
		want                        string
	}{
		{"one login", "", "AUTH boss pw", "ACL WHOAMI", false, "*1|+OK|$4|boss|"},
		{"two logins", "", "AUTH boss pw|PING|AUTH app pw|ACL WHOAMI", "ACL WHOAMI", false,
			"*4|+OK|+PONG|+OK|$3|app|$3|app|"},
		{"a wrong password", "", "AUTH boss wrong|ACL WHOAMI|EXISTS k", "ACL WHOAMI", false,
			"*3|-WRONGPASS invalid username-password pair or user is disabled.|$4|shop|:0|$4|shop|"},
		{"a key that changed", "WATCH k", "AUTH boss pw", "ACL WHOAMI", true, "*-1|$4|shop|"},
		{"a transaction that is discarded", "", "AUTH boss pw|NOPE", "ACL WHOAMI", false,
			"-EXECABORT Transaction discarded because of previous errors.|$4|shop|"},
	} {
		var checks []func()
		table, err := users.Parse("f", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		// A refusal answers after a delay, which is a check here.
		h := newTestHandlerWith(session.Config{Users: table, Spawn: func(f func()) { checks = append(checks, f) },
			After: func(_ time.Duration, f func()) { checks = append(checks, f) }})
		s := loggedInBy(t, h, &checks, "shop", "pw")
		do := func(lines string) {
			for line := range strings.SplitSeq(lines, "|") {
				for line != "" && !s.Do(words(line)) {
					if s.Resume() || s.Do(words("PING")) {
						t.Fatalf("%s: the session continues before the password is checked", tt.name)
					}
					runAll(&checks)
					s.Resume()
				}
				for !s.Flush() {
					runAll(&checks)
					s.Resume()
				}
			}
		}
		do(tt.before)
		if tt.changes {
			other := loggedInBy(t, h, &checks, "boss", "pw")
			other.Do(words("SET k v"))
			other.Flush()
		}
		do("MULTI|" + tt.inside)
		s.Out = nil
		do("EXEC|" + tt.after)
		if got := strings.ReplaceAll(string(s.Out), "\r\n", "|"); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestCloseDuringLogins: a connection that ends withdraws the login of its EXEC.
func TestCloseDuringLogins(t *testing.T) {
	table, err := users.Parse("f", []byte(withHashes(t, ourUsers)))
	if err != nil {
		t.Fatal(err)
	}
	var checks []func()
	h := newTestHandlerWith(session.Config{Users: table, Spawn: func(f func()) { checks = append(checks, f) },
		After: func(_ time.Duration, f func()) { checks = append(checks, f) }})
	s := loggedInBy(t, h, &checks, "app", "pw")
	for _, line := range []string{"MULTI", "AUTH boss pw", "SET app:1 v", "EXEC"} {
		if s.Do(words(line)) == (line == "EXEC") {
			t.Fatalf("Do(%s)", line)
		}
		s.Flush()
	}
	s.Close()
	runAll(&checks)
	if n := h.Engine().Len(); n != 0 {
		t.Errorf("%d keys, want none", n)
	}
	if got := h.Connected(); got != 0 {
		t.Errorf("%d sessions", got)
	}
}

// loggedInBy makes a session and logs it in, running the checks.
func loggedInBy(t *testing.T, h *session.Handler, checks *[]func(), user, password string) *session.Session {
	t.Helper()
	s := h.NewSession(session.Client{Addr: "10.0.0.1:1", Wake: func() {}, Close: func() {}})
	s.Do(words("AUTH " + user + " " + password))
	runAll(checks)
	s.Resume()
	if string(s.Out) != "+OK\r\n" {
		t.Fatalf("AUTH %s: %s", user, s.Out)
	}
	s.Out = nil
	return s
}

// runAll runs the checks, and those that they begin.
func runAll(checks *[]func()) {
	for len(*checks) > 0 {
		f := (*checks)[0]
		*checks = (*checks)[1:]
		f()
	}
}
