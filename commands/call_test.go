package commands

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"limitsrv/commands/auth"
	"limitsrv/commands/auth/users"
	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/engine"
)

// decide calls Decide as a user and summarises the result.
func decide(h *session.Handler, a *auth.Account, line string) string {
	ds, err := h.Decide(context.Background(), session.Call{Account: a, From: "10.0.0.1:1", Args: words(line)})
	if err != nil {
		return err.Error()
	}
	if ds[0].Status != engine.OK {
		return "status"
	}
	return ds[0].Params.Alg.String()
}

func TestDecideIsACommand(t *testing.T) {
	h := newTestHandler("")
	a, err := h.Logins().Login(context.Background(), "10.0.0.1:1", auth.DefaultUser, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, want string }{
		{"RL.FIXED k 5 day", "FIXED"},
		{"RL.PEEK k", "FIXED"},
		{"RL.PEEK nobody", "status"},
		{"RL.PEEK", "ERR wrong number of arguments"},
		{"RL.FIXED k -1 day", "ERR limit must be"},
		{"NOTHING", "ERR unknown command"},
		{"INFO", "ERR the command does not work on keys"},
	} {
		if got := decide(h, a, tt.line); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.line, got, tt.want)
		}
	}
	h.SetLoading(true)
	if got := decide(h, a, "RL.PEEK k"); !strings.HasPrefix(got, "LOADING") {
		t.Errorf("while loading: %s", got)
	}
	if len(h.Sessions()) != 0 {
		t.Errorf("%d sessions are left", len(h.Sessions()))
	}
}

func TestDecideAsLimitedUser(t *testing.T) {
	table, err := users.Parse("f", []byte(withHashes(t, "users:\n- {name: looks, hash: '#pw', groups: [peek], keys: "+
		"['api:*']}\n- {name: root, hash: '#pw', groups: [admin], keys: ['*']}\n")))
	if err != nil {
		t.Fatal(err)
	}
	h := newTestHandlerWith(session.Config{Users: table, Log: slog.New(slog.DiscardHandler)})
	as := h.Logins().Find
	for _, tt := range []struct{ user, line, want string }{
		{"looks", "RL.PEEK api:1", "status"},
		{"looks", "RL.PEEK k", "NOPERM"},
		{"looks", "RL.RESET api:1", "NOPERM"},
		{"root", "RL.RESET k", "TOKEN"},
		{"nobody", "RL.PEEK api:1", "NOAUTH"},
	} {
		if got := decide(h, as(tt.user), tt.line); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s as %s: %s, want %s", tt.line, tt.user, got, tt.want)
		}
		err := h.May(as(tt.user), strings.Fields(tt.line)...)
		if rejected := strings.HasPrefix(tt.want, "NO"); rejected != (err != nil) || rejected &&
			!strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s may %s: %v, want %s", tt.user, tt.line, err, tt.want)
		}
	}
	if err := h.May(as("looks"), "SCAN", "0"); err == nil {
		t.Error("a user with some keys may use a command on all keys")
	}
}

func TestDecideWaitsForCommit(t *testing.T) {
	exec := &fakeExec{held: make(chan struct{})}
	h := NewHandler(session.Config{Exec: exec, Clock: backend.NewTestClock(testStart)})
	a, err := h.Logins().Login(context.Background(), "10.0.0.1:1", auth.DefaultUser, nil)
	if err != nil {
		t.Fatal(err)
	}
	committed := 0
	exec.onCommit = func() {
		committed++
		exec.held <- struct{}{}
	}
	call := session.Call{Account: a, Args: words("RL.PEEK k")}
	if ds, err := h.Decide(context.Background(), call); err != nil || ds[0].Allowed != 1 || committed != 1 {
		t.Errorf("it is decided %v, %v, committed %d times", ds, err, committed)
	}
	call.Args = words("RL.PEEK down")
	if _, err := h.Decide(context.Background(), call); !errors.Is(err, session.ErrDown) {
		t.Errorf("without a majority: %v", err)
	}
	exec.err = errors.New("disk on fire")
	call.Args = words("RL.PEEK k")
	if _, err := h.Decide(context.Background(), call); err == nil || err.Error() != "disk on fire" {
		t.Errorf("the error of the batch is %v", err)
	}
	over, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("gone"))
	exec.onCommit = nil
	if _, err := h.Decide(over, call); err == nil || err.Error() != "gone" {
		t.Errorf("after the context has ended: %v", err)
	}
	close(exec.held)
}
