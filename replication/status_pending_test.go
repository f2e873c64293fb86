package replication

import (
	"slices"
	"strings"
	"testing"
	"time"

	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// isReady reports whether a node says that it is ready.
func isReady(n *Node) bool {
	r := n.Replication()
	return r.HasQuorum && r.Pending == ""
}

// awaitReady waits until all nodes are ready.
func (c *testCluster) awaitReady() {
	c.t.Helper()
	eventually(c.t, "all nodes are ready", func() bool {
		return !slices.ContainsFunc(c.nodes, func(n *Node) bool { return !isReady(n) })
	})
}

func TestIsRising(t *testing.T) {
	own := fsm.Member{Node: "a", Version: "2", Level: 4}
	servers := []storage.Server{{Node: "a"}, {Node: "b"}, {Node: "c"}}
	const absent = -1 // it has published nothing
	for _, tt := range []struct {
		name   string
		log    int    // level of the log
		b, c   int    // levels of the members
		silent string // this member is not online
		own    fsm.Member
		rises  bool
	}{
		{"all know the level of the log", 4, 4, 4, "", own, false},
		{"the level is to be raised", 1, 4, 4, "", own, true},
		{"the level is to be raised in part", 1, 4, 2, "", own, true},
		{"a member is older", 2, 4, 2, "", own, false},
		{"a silent member is older", 2, 4, 2, "c", own, false},
		{"a member has published nothing yet", 1, absent, 4, "", own, true},
		{"no member has published anything yet", 1, absent, absent, "", own, true},
		{"a silent member never published anything", 1, absent, 4, "b", own, false},
		{"a silent member never published anything, an online one not yet", 1, absent, absent, "b", own, false},
		{"a member that has published nothing can't keep the level", 2, absent, 2, "", own, false},
		{"a silent member with the newest level", 1, 4, 4, "b", own, true},
		{"the leader has published the data of an older version", 4, 4, 4, "", fsm.Member{Node: "a", Version: "1", Level: 4},
			true},
	} {
		members := map[string]fsm.Member{"a": tt.own}
		for node, level := range map[string]int{"b": tt.b, "c": tt.c} {
			if level != absent {
				members[node] = fsm.Member{Node: node, Level: level}
			}
		}
		if got := isRising(tt.log, own, servers, members,
			func(node string) bool { return node != tt.silent }); got != tt.rises {
			t.Errorf("%s: rising is %v, want %v", tt.name, got, tt.rises)
		}
	}
}

func TestReadyTestPasses(t *testing.T) {
	well := readyTest{published: true, votes: true, configuration: 7}
	for _, tt := range []struct {
		name   string
		test   readyTest
		leader peerStatus
		passes bool
	}{
		{"all hold", well, peerStatus{Peers: []peerSummary{{"b", 7, 0}, {"c", 9, time.Second}}}, true},
		{"a leader of an older version sends no more", well, peerStatus{}, true},
		{"the log lacks its data", readyTest{votes: true, configuration: 7}, peerStatus{}, false},
		{"it has no vote", readyTest{published: true, configuration: 7}, peerStatus{}, false},
		{"the level is to be raised", well, peerStatus{Settling: true}, false},
		{"another member does not know of its vote", well, peerStatus{Peers: []peerSummary{{"b", 6, 0}, {"c", 9, 0}}}, false},
		{"a dead member does not know of its vote", well, peerStatus{Peers: []peerSummary{{"b", 6, time.Hour}, {"c", 9, 0}}},
			true},
	} {
		if got := tt.test.passes(tt.leader); got != tt.passes {
			t.Errorf("%s: passes is %v, want %v", tt.name, got, tt.passes)
		}
	}
}

// TestPending: a member says that it is pending while it lacks entries of the log, or does not
// know its features.
func TestPending(t *testing.T) {
	n := startCluster(t, 1, nil).leader()
	lead := n.leadership()
	s := &raftStack{Files: lead.stack.Files, raft: lead.stack.raft} // which no goroutine changes
	lead.stack = s
	expect := func(elected bool, want string) {
		t.Helper()
		lead.elected = elected
		if got := n.pending(lead); got != want {
			t.Errorf("elected %v: pending is %q, want %q", elected, got, want)
		}
	}
	const unsettled = "it is not known yet which features all nodes support, or the leader has not loaded its rules"
	expect(true, unsettled)
	expect(false, unsettled)
	s.settled.Store(true)
	expect(true, "")
	expect(false, "")
	s.leaderLast.Store(s.raft.LastIndex() + 2*caughtUp)
	expect(true, "")
	lead.elected = false
	if got := n.pending(lead); !strings.HasPrefix(got, "this node lacks ") {
		t.Errorf("pending is %q, want the number of entries that it lacks", got)
	}
}
