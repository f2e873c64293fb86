package commands

import (
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

// newMovedSession returns a session of a follower of a leader with an IPv6 address.
func newMovedSession(f *fakeExec) (*session.Session, *fakeCluster) {
	c := newFakeCluster(status.Follower)
	c.enabled, c.moved = true, "[fd00::1]:7002"
	h := newTestHandlerWith(session.Config{Cluster: c})
	h.Executor().Exec = f
	return h.NewSession(session.Client{Addr: "127.0.0.1:9", LocalAddr: "127.0.0.1:6379", Close: func() {},
		Wake: func() {}}), c
}

func TestMoved(t *testing.T) {
	const moved = "-MOVED 12182 fd00::1:7002|"
	for _, tt := range []struct {
		name, want, batches string
		lines               []string
	}{
		{"redirects commands with keys", strings.Repeat(moved, 5), "",
			[]string{"DEL foo k", "RL.TOKEN foo 10 1", "RL.ALL TOKEN foo 1 1 1 TOKEN k 1 1 1", "EXISTS foo",
				"MEMORY USAGE foo"}},
		{"executes the rest", "+PONG|+OK|+OK|", "", []string{"PING", "FLUSHALL", "UNWATCH"}},
		{"rejects invalid lines itself", "-ERR wrong number of arguments for 'del' command|-Cell error: Store error: " +
			"Usage: cl.throttle <key> <max_burst> <count per period> <period> [<quantity>]|", "",
			[]string{"DEL", "CL.THROTTLE"}},
		{"executes reads under READONLY", "+OK|:1|+OK|" + moved, "k?",
			[]string{"READONLY", "EXISTS k", "READWRITE", "EXISTS foo"}},
		{"does not decide under READONLY", "+OK|" + moved + "+OK|", "", []string{"READONLY", "DEL foo", "READWRITE"}},
		{"watches under READONLY only", moved + "+OK|+OK|+OK|+OK|", "k?",
			[]string{"WATCH foo", "READONLY", "WATCH k", "UNWATCH", "READWRITE"}},
		{"makes a transaction dirty",
			"+OK|" + moved + "+QUEUED|-EXECABORT Transaction discarded because of previous errors.|", "",
			[]string{"MULTI", "DEL foo", "PING", "EXEC"}},
		{"queues reads under READONLY", "+OK|+OK|+QUEUED|*1|:1|+OK|", "k!?",
			[]string{"READONLY", "MULTI", "EXISTS k", "EXEC", "READWRITE"}},
		{"forgets READONLY with RESET", "+OK|+RESET|" + moved, "", []string{"READONLY", "RESET", "EXISTS foo"}},
	} {
		f := &fakeExec{}
		s, _ := newMovedSession(f)
		if got := ask(s, tt.lines...); got != tt.want {
			t.Errorf("%s: %q\n got %s\nwant %s", tt.name, tt.lines, got, tt.want)
		}
		f.batches = deleteEmpty(f.batches) // FLUSHALL has no key
		if got := strings.Join(f.batches, ","); got != tt.batches {
			t.Errorf("%s: batches %q, want %q", tt.name, got, tt.batches)
		}
	}
}

func deleteEmpty(words []string) (rest []string) {
	for _, w := range words {
		if w != "" {
			rest = append(rest, w)
		}
	}
	return rest
}

// A node that loses leadership while a transaction is queued redirects EXEC.
func TestExecMoved(t *testing.T) {
	f := &fakeExec{}
	s, c := newMovedSession(f)
	c.moved = ""
	ask(s, "MULTI", "PING", "RL.TOKEN foo 1 1", "DEL k")
	c.moved = "10.0.0.2:7002"
	if got, want := ask(s, "EXEC", "EXEC", "MULTI", "PING", "EXEC"),
		"-MOVED 12182 10.0.0.2:7002|-ERR EXEC without MULTI|+OK|+QUEUED|*1|+PONG|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(deleteEmpty(f.batches)) > 0 {
		t.Errorf("batches %q, want none", f.batches)
	}
}

// A dirty transaction is rejected without a redirection.
func TestDirtyExecIsNotMoved(t *testing.T) {
	s, c := newMovedSession(&fakeExec{})
	c.moved = ""
	ask(s, "MULTI", "DEL foo", "DEL")
	c.moved = "10.0.0.2:7002"
	if got, want := ask(s, "EXEC"), "-EXECABORT Transaction discarded because of previous errors.|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A read-only transaction is executed under READONLY although the node is not the leader
// any more.
func TestReadOnlyExecStays(t *testing.T) {
	s, c := newMovedSession(&fakeExec{})
	c.moved = ""
	ask(s, "READONLY", "MULTI", "EXISTS k")
	c.moved = "10.0.0.2:7002"
	if got, want := ask(s, "EXEC"), "*1|:1|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// READONLY affects later batches of its own session only.
func TestStaleBatches(t *testing.T) {
	f := &fakeExec{}
	h := newTestHandlerWith(session.Config{Cluster: newFakeCluster(status.Follower)})
	h.Executor().Exec = f
	s, other := h.NewSession(session.Client{}), h.NewSession(session.Client{})
	ask(s, "EXISTS k", "READONLY", "EXISTS k", "DEL a", "WATCH w", "READWRITE", "EXISTS k")
	ask(other, "EXISTS other")
	if got, want := strings.Join(f.batches, ","), "k,k a?,w?,k,other"; got != want {
		t.Errorf("batches %q, want %q", got, want)
	}
}
