package commands

import (
	"strings"
	"testing"

	"limitsrv/commands/backend"
	"limitsrv/commands/session"
	"limitsrv/engine/slots"
	"limitsrv/internal/status"
)

// newGroups returns a cluster of two groups, seen from the leader of the first, which owns the slots of foo
// and of a, and no slot between. Slot 16383 has no owner.
func newGroups() *fakeCluster {
	c := newFakeCluster(status.Leader)
	c.enabled = true
	nodes := c.Nodes("")
	foo, a := slots.Of([]byte("foo")), slots.Of([]byte("a"))
	other := []status.Node{{ID: fakeNodeID("d"), Host: "10.0.0.4", Port: 7004, Leader: true, Online: true, Voter: true}}
	c.groups = []backend.Group{
		{Slots: slots.Set{{First: foo, Last: foo}, {First: a, Last: a}}, Nodes: nodes, Term: 7},
		{Slots: slots.Set{{First: 0, Last: foo - 1}, {First: foo + 1, Last: a - 1}, {First: a + 1, Last: slots.Count - 2}},
			Nodes: other, Term: 3},
	}
	return c
}

// Commands with keys of another group are redirected, whatever may be read here. A command, and a transaction,
// has keys of one slot. Commands that need all groups are refused.
func TestGroupsRedirect(t *testing.T) {
	const crossed = "-CROSSSLOT Keys in request don't hash to the same slot|"
	const one = "-ERR this command needs a cluster of one group"
	const moved = "-MOVED 5061 10.0.0.4:7004|"
	for _, tt := range []struct {
		lines []string
		want  string // the replies begin or end so
	}{
		{[]string{"RL.FIXED foo 10 hour"}, "*5|"},
		{[]string{"RL.FIXED bar 10 hour"}, moved},
		{[]string{"READONLY", "GET bar"}, moved},
		{[]string{"READONLY", "GET foo"}, "$-1|"},
		{[]string{"MGET foo a"}, crossed},
		{[]string{"MGET foo bar"}, crossed},
		{[]string{"DEL foo {foo}2"}, ":0|"},
		{[]string{"RL.ALL FIXED foo 10 hour 1 FIXED a 10 hour 1"}, crossed},
		{[]string{"RL.FIXED foo 10 hour 1 ONCE id"}, crossed},
		{[]string{"RL.RESERVE id 5000 FIXED foo 10 hour 1"}, crossed},
		{[]string{"EVAL return,1 2 foo a"}, crossed},
		{[]string{"MULTI", "GET foo", "GET a"}, crossed},
		{[]string{"MULTI", "GET foo", "GET a", "EXEC"}, "-EXECABORT Transaction discarded because of previous errors.|"},
		{[]string{"MULTI", "GET foo", "GET {foo}1", "EXEC"}, "*2|$-1|$-1|"},
		{[]string{"RL.CHECK d k v"}, one}, {[]string{"RL.RULES LIST"}, one}, {[]string{"RL.RULES LOAD x"}, one},
		{[]string{"RL.OVERRIDE LIST d"}, one}, {[]string{"RL.SETTLE d k v BY 1"}, one}, {[]string{"RL.POLICY d k v"}, one},
		{[]string{"PUBLISH a b"}, one}, {[]string{"SUBSCRIBE a"}, one}, {[]string{"PUBSUB CHANNELS"}, one},
		{[]string{"DBSIZE"}, ":0|"},
	} {
		c := newGroups()
		c.moved = "10.0.0.4:7004"
		s := newTestHandlerWith(session.Config{Cluster: c}).NewSession(session.Client{})
		if got := ask(s, tt.lines...); !strings.HasSuffix(got, tt.want) && !strings.Contains(got, tt.want) {
			t.Errorf("%q: %s, want %s", tt.lines, got, tt.want)
		}
	}
	s := newTestHandlerWith(session.Config{Cluster: newGroups()}).NewSession(session.Client{})
	if got := ask(s, "GET bar"); got != "-CLUSTERDOWN Hash slot not served|" {
		t.Errorf("a key of a group without a known leader: %s", got)
	}
}

// CLUSTER describes all groups.
func TestGroupsDescribed(t *testing.T) {
	c := newGroups()
	s := newTestHandlerWith(session.Config{Cluster: c}).NewSession(session.Client{})
	for line, want := range map[string][]string{
		"CLUSTER SLOTS":  {"*5|", ":12182|:12182|", ":15495|:15495|", ":0|:12181|", ":15496|:16382|", "10.0.0.4"},
		"CLUSTER SHARDS": {"*2|", ":12182|:12182|:15495|:15495|", ":7004|"},
		"CLUSTER NODES": {"myself,master - 0 0 7 connected 12182 15495", "10.0.0.4:7004@17004 master",
			"connected 0-12181 12183-15494 15496-16382"},
		"CLUSTER INFO": {"cluster_state:fail", "cluster_slots_assigned:16383", "cluster_slots_ok:16383",
			"cluster_known_nodes:4", "cluster_size:2"},
	} {
		got := ask(s, line)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s, lacks %s", line, got, part)
			}
		}
	}
	c.groups[1].Nodes[0].Leader = false
	if got := ask(s, "CLUSTER SLOTS"); !strings.HasPrefix(got, "*2|") || strings.Contains(got, "10.0.0.4") {
		t.Errorf("SLOTS with a group without a leader: %s", got)
	}
}
