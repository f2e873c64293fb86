package commands

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/calls"
	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
)

// ofThisNode are the lines that read the state of this node outside of batches, as their
// documentation says, with the reason.
var ofThisNode = map[string]string{
	"info":             "describes the node, and must answer without a leader; a line that names KEYSPACE is fresh",
	"memory|doctor":    "describes the memory of the node",
	"memory|stats":     "describes the memory of the node",
	"config|resetstat": "resets the counts of the node",
	"rl.top":           "counts the decisions that the node has applied",
	"rl.stats":         "counts the decisions that the node has applied",
	"rl.policy":        "asks the leader whether its rules are those of the node",
	"rl.rules|get":     "asks the leader whether its rules are those of the node",
	"rl.rules|match":   "asks the leader whether its rules are those of the node",
	"rl.rules|list":    "asks the leader whether its rules are those of the node",
}

// A lateCluster answers Fresh when a test says so.
type lateCluster struct {
	*fakeCluster
	asked []func(error)
}

func (c *lateCluster) Fresh(done func(error)) {
	c.asked = append(c.asked, done)
}

// newLateSession returns a session of a node that is not the leader, and the number of times that
// the engine was asked for.
func newLateSession(t *testing.T) (*session.Session, *lateCluster, *int) {
	reads := new(int)
	c := &lateCluster{fakeCluster: newFakeCluster(status.Follower)}
	c.enabled = true
	clock := backend.NewTestClock(testStart)
	local := &backend.Local{Clock: clock, Engine: engine.New(engine.Options{Commands: calls.Commands})}
	h := NewHandler(session.Config{
		Exec: local, Clock: clock, TestClock: clock, Cluster: c, Log: slog.New(slog.DiscardHandler),
		Spawn: func(f func()) { f() },
		Engine: func() *engine.Engine {
			*reads++
			return local.Engine
		},
	})
	s := h.NewSession(session.Client{Close: func() {}, Wake: func() {}})
	t.Cleanup(s.Close)
	return s, c, reads
}

// TestReadersAreFresh walks all run commands of the table: a command that reads the state
// outside of a batch asks for the state of all nodes first, or is in ofThisNode.
func TestReadersAreFresh(t *testing.T) {
	for _, spec := range newRegistry().Specs() {
		if spec.Run == nil || spec.Name == "SHUTDOWN" {
			continue
		}
		t.Run(spec.FullName, func(t *testing.T) {
			line, _ := rightLine(spec)
			s, c, reads := newLateSession(t)
			before := *reads
			done := s.Do(line)
			asked := len(c.asked) > 0
			reason := ofThisNode[spec.FullName]
			switch {
			case asked && (done || *reads != before):
				t.Errorf("%q reads the state before the question is answered", line)
			case !asked && *reads != before && reason == "":
				t.Errorf("%q reads the state of this node; it needs Fresh, or a line in ofThisNode", line)
			case reason != "" && asked:
				t.Errorf("%q asks for the state of all nodes, and ofThisNode says: %s", line, reason)
			}
		})
	}
}

// A line is answered when the question is, and with its error.
func TestFreshAnswers(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		before []string // lines
		want   string
	}{
		{"a command", nil, nil, ":1\r\n"},
		{"a command without a leader", errors.New("x"), nil, "-ERR"},
		{"after READONLY", nil, []string{"READONLY"}, "+OK\r\n:1\r\n"},
		{"in a transaction", nil, []string{"MULTI", "SET b 1", "DBSIZE"}, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n:2\r\n"},
		{"in a transaction that only reads", nil, []string{"MULTI", "DBSIZE"}, "+OK\r\n+QUEUED\r\n*1\r\n:1\r\n"},
		{"in a transaction without a leader", errors.New("x"), []string{"MULTI", "SET b 1", "DBSIZE"},
			"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+OK\r\n-ERR"},
		{"after a discarded transaction", nil, []string{"MULTI", "DBSIZE", "DISCARD"}, "+OK\r\n+QUEUED\r\n+OK\r\n:1\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, c, _ := newLateSession(t)
			do := func(line string) bool { return s.Do(words(line)) }
			do("SET a 1")
			s.Flush()
			s.Out = s.Out[:0]
			for _, line := range tt.before {
				if !do(line) {
					t.Fatalf("%q is not accepted", line)
				}
			}
			last := "DBSIZE"
			if slices.Contains(tt.before, "MULTI") && !slices.Contains(tt.before, "DISCARD") {
				last = "EXEC"
			}
			accepted := do(last)
			s.Flush()
			if len(c.asked) > 0 {
				if s.Resume() {
					t.Fatal("resumed before the question is answered")
				}
				c.asked[0](tt.err)
				if !s.Resume() {
					t.Fatal("not resumed when the question is answered")
				}
				if !accepted && !do(last) {
					t.Fatalf("%s is not accepted when the question is answered", last)
				}
			} else if !slices.Contains(tt.before, "READONLY") {
				t.Error("no question was asked")
			}
			s.Flush()
			if !strings.HasPrefix(string(s.Out), tt.want) {
				t.Errorf("the replies are %q, want %q", s.Out, tt.want)
			}
			if !do("DBSIZE") && len(c.asked) < 2 {
				t.Error("the next command asked no question of its own")
			}
		})
	}
}

// A line of INFO asks for the state of all nodes if it names the keyspace.
func TestFreshInfo(t *testing.T) {
	for line, want := range map[string]bool{"INFO": false, "INFO all": false, "INFO server": false, "INFO keyspace": true,
		"INFO server KeySpace": true} {
		s, c, _ := newLateSession(t)
		s.Do(words(line))
		if got := len(c.asked) > 0; got != want {
			t.Errorf("%s asks: %v, want %v", line, got, want)
		}
	}
}
