package commands

import (
	"bytes"
	"strings"
	"testing"

	"limitsrv/commands/session"
	"limitsrv/engine"
	"limitsrv/internal/status"
)

// The address is the address that the client connected to.
func TestEmulatedAddress(t *testing.T) {
	for _, tt := range []struct {
		local, host string
		port        int
	}{
		{"127.0.0.1:6379", "127.0.0.1", 6379},
		{"[::1]:7000", "::1", 7000},
		{"/run/limitsrv.sock:0", "", 0},
		{"", "", 0},
	} {
		n := testCluster.Nodes(tt.local)[0]
		if n.Host != tt.host || n.Port != tt.port {
			t.Errorf("Nodes(%q) = %q, %d, want %q, %d", tt.local, n.Host, n.Port, tt.host, tt.port)
		}
	}
}

const clusterDown = "-CLUSTERDOWN the cluster has no leader with a quorum|"

// A command that could not be decided is answered CLUSTERDOWN alone; a transaction as a
// whole.
func TestDownIsPerCommand(t *testing.T) {
	h := newTestHandler("")
	h.Executor().Exec = &fakeExec{}
	s := h.NewSession(session.Client{})
	for _, tt := range []struct {
		name, want string
		lines      []string
	}{
		{"in a pipeline", ":1|" + clusterDown + ":1|", []string{"DEL a", "DEL down", "DEL b"}},
		{"for a command of several keys", clusterDown, []string{"DEL a down b"}},
		{"in a transaction", "+OK|+QUEUED|+QUEUED|" + clusterDown, []string{"MULTI", "DEL a", "DEL down", "EXEC"}},
		{"and the transaction is over", "-ERR EXEC without MULTI|", []string{"EXEC"}},
	} {
		if got := ask(s, tt.lines...); got != tt.want {
			t.Errorf("%s: %q\n got %s\nwant %s", tt.name, tt.lines, got, tt.want)
		}
	}
	if got := fields(infoText(h, words("errorstats")))["errorstat_CLUSTERDOWN"]; got != "count=3" {
		t.Errorf("errorstat_CLUSTERDOWN:%s, want count=3", got)
	}
}

// downExec has no quorum for any op.
type downExec struct{}

func (downExec) Commit() {}

func (downExec) Exec(b *engine.Batch, done func(error)) {
	for range b.Ops {
		b.Decisions = append(b.Decisions, engine.Decision{Status: engine.Down})
	}
	done(nil)
}

// Every op command is answered CLUSTERDOWN without a quorum.
func TestDownForAll(t *testing.T) {
	seen := 0
	for _, c := range newRegistry().Specs() {
		if !c.HasOps() {
			continue
		}
		args, _ := rightLine(c)
		line := string(bytes.Join(args, []byte(" ")))
		if got := ask(newTestSession(downExec{}, "", nil), line); got != clusterDown {
			t.Errorf("%s: got %s, want %s", line, got, clusterDown)
		}
		seen++
	}
	if seen < 20 {
		t.Errorf("only %d commands were sent", seen)
	}
}

// No client is sent to a node without a known address.
func TestClusterUnknownAddresses(t *testing.T) {
	for _, tt := range []struct {
		role        status.Role
		mute        int
		slots, none string // in the reply of SLOTS, and not in it
	}{
		{status.Follower, 1, "10.0.0.2", "$0|"},
		{status.Leader, 1, "-CLUSTERDOWN", "10.0.0"},
		{status.Follower, 2, "-CLUSTERDOWN", "10.0.0"},
	} {
		c := newFakeCluster(tt.role)
		c.mute = tt.mute
		s := newTestHandlerWith(session.Config{Cluster: c}).NewSession(session.Client{})
		if got := ask(s, "CLUSTER SLOTS"); !strings.Contains(got, tt.slots) || strings.Contains(got, tt.none) {
			t.Errorf("%s, %d unknown: SLOTS answers %s, want %s and no %s", tt.role, tt.mute, got, tt.slots, tt.none)
		}
		if got := ask(s, "CLUSTER SHARDS"); strings.Contains(got, "port|:0|") {
			t.Errorf("%s, %d unknown: SHARDS answers %s", tt.role, tt.mute, got)
		}
	}
}

func TestClusterEnabledByRedisName(t *testing.T) {
	for mode, want := range map[string]string{"off": "no", "emulated": "yes", "on": "yes"} {
		h :=
			newTestHandlerWith(session.Config{Options: func() []session.Option {
				return []session.Option{{Name: "cluster-mode",
					Value: mode}}
			}})
		if got := setting(h, "cluster-enabled"); got != want {
			t.Errorf("cluster-mode %s: cluster-enabled is %s, want %s", mode, got, want)
		}
	}
}
