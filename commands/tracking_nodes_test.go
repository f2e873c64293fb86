package commands

import (
	"context"
	"strings"
	"testing"
	"time"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/internal/status"
)

// A followingCluster has a node that forwards batches to a fakeExec unless it leads, and notes the calls
// of Fresh there.
type followingCluster struct {
	*fakeCluster
	leads bool
	exec  *fakeExec
	err   error // of Fresh
}

func (c *followingCluster) Leads() bool { return c.leads }

func (c *followingCluster) Fresh(done func(error)) {
	c.exec.batches = append(c.exec.batches, "fresh")
	done(c.err)
}

// newFollowerSession returns a session of a node that forwards batches to f unless it leads.
func newFollowerSession(f *fakeExec, leads bool) (*session.Session, *followingCluster) {
	c := &followingCluster{newFakeCluster(status.Leader), leads, f, nil}
	h := newTestHandlerWith(session.Config{Cluster: c, Spawn: func(f func()) { f() }})
	h.Executor().Exec = f
	return h.NewSession(session.Client{Wake: func() {}}), c
}

// askFollower sends a line and returns the reply.
func askFollower(s *session.Session, line string) string {
	s.Do(words(line))
	for !s.Flush() {
		s.Resume()
	}
	return ask(s)
}

// TestTrackingOnFollowers: a follower answers tracked reads from its own state when that is fresh, and
// answers a change of a tracked key when its own state has the change.
func TestTrackingOnFollowers(t *testing.T) {
	const reads = "CLIENT TRACKING ON;EXISTS k"
	for _, tt := range []struct {
		lines string // separated by ;
		leads bool
		want  string // the batches and the calls of Fresh
	}{
		{"EXISTS k", false, "k"},
		{reads, false, "fresh, k?"},
		{"CLIENT TRACKING ON BCAST;EXISTS k", false, "fresh, k?"},
		{"CLIENT TRACKING ON OPTIN;EXISTS k", false, "k"},
		{"CLIENT TRACKING ON OPTIN;CLIENT CACHING YES;EXISTS k", false, "fresh, k?"},
		{"CLIENT TRACKING ON OPTOUT;CLIENT CACHING NO;EXISTS k", false, "k"},
		{reads, true, "k"},
		{"CLIENT TRACKING ON;READONLY;EXISTS k", false, "k?"},
		{"CLIENT TRACKING ON;CLIENT TRACKING OFF;EXISTS k", false, "k"},
		{"CLIENT TRACKING ON;MULTI;EXISTS k;EXEC", false, "fresh, k!?"},
		{"CLIENT TRACKING ON;MULTI;EXISTS k;DEL z;EXEC", false, "k z!, fresh"},
		{"CLIENT TRACKING ON;DEL k", false, "k"},
		{reads + ";DEL k", false, "fresh, k?, k, fresh"},
		{reads + ";DEL k", true, "k, k"},
		{reads + ";DEL z", false, "fresh, k?, z"},
		{reads + ";CLIENT TRACKING OFF;DEL k", false, "fresh, k?, k"},
		{reads + ";RL.TOKEN k 1 1/h", false, "fresh, k?, k, fresh"},
		{reads + ";RL.TOKEN z 1 1/h", false, "fresh, k?, z"},
		{reads + ";SET k 1", false, "fresh, k?, , fresh"},
		{reads + ";SET z 1", false, "fresh, k?, "},
		{reads + ";FLUSHALL", false, "fresh, k?, , fresh"},
		{reads + ";MULTI;DEL k;DBSIZE;EXEC", false, "fresh, k?, k!, fresh"},
		{"CLIENT TRACKING ON BCAST PREFIX k;DEL k2", false, "k2, fresh"},
		{"CLIENT TRACKING ON BCAST PREFIX k;DEL z", false, "z"},
	} {
		f := &fakeExec{}
		s, _ := newFollowerSession(f, tt.leads)
		for line := range strings.SplitSeq(tt.lines, ";") {
			askFollower(s, line)
		}
		if got := strings.Join(f.batches, ", "); got != tt.want {
			t.Errorf("%s (the node leads: %v): %q, want %q", tt.lines, tt.leads, got, tt.want)
		}
	}
}

// TestTrackingAtFronts: a front looks for the expiry of a tracked key in the batch that reads it, and
// answers a change of a tracked key when it has told its clients.
func TestTrackingAtFronts(t *testing.T) {
	for _, tt := range []struct{ lines, want string }{
		{"EXISTS k", "k"},
		{"CLIENT TRACKING ON;EXISTS k;EXISTS k", "k k, k"},
		{"CLIENT TRACKING ON;DEL k;EXISTS k;DEL k", "k, k k, k, fresh"},
		{"CLIENT TRACKING ON;EXISTS k;READONLY;DEL k", "k k, k?, fresh"},
		{"CLIENT TRACKING ON;MULTI;EXISTS k;DEL z;EXEC", "k z k!, fresh"},
		{"CLIENT TRACKING ON BCAST PREFIX k;EXISTS k;EXISTS z", "k k, z"},
		{"CLIENT TRACKING ON;MEMORY USAGE k;EXISTS k", "asked, k k"},
	} {
		f := &fakeExec{}
		c := &followingCluster{newFakeCluster(status.Leader), false, f, nil}
		h := newTestHandlerWith(session.Config{Cluster: c, Spawn: func(f func()) { f() },
			After: func(time.Duration, func()) {},
			Ask: func(_ context.Context, _ backend.Asked, done func([][]byte, error)) {
				f.batches = append(f.batches, "asked")
				done([][]byte{[]byte(":1\r\n")}, nil)
			}})
		h.Executor().Exec = f
		s := h.NewSession(session.Client{Wake: func() {}})
		for line := range strings.SplitSeq(tt.lines, ";") {
			askFollower(s, line)
		}
		if got := strings.Join(f.batches, ", "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.lines, got, tt.want)
		}
	}
}

// TestTrackingWithoutLeader: a follower answers no tracked read if its state may be old. A change that is
// done keeps its answer.
func TestTrackingWithoutLeader(t *testing.T) {
	s, c := newFollowerSession(&fakeExec{}, false)
	askFollower(s, "CLIENT TRACKING ON")
	if got := askFollower(s, "EXISTS k"); got != ":1|" {
		t.Errorf("a read is answered %s", got)
	}
	c.err = session.ErrDown
	if got := askFollower(s, "DEL k"); got != ":1|" {
		t.Errorf("a change is answered %s", got)
	}
	if got := askFollower(s, "EXISTS k"); got != "-CLUSTERDOWN the cluster has no leader with a quorum|" {
		t.Errorf("a read without a leader is answered %s", got)
	}
}
