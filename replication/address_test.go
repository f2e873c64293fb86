package replication

import (
	"strings"
	"testing"
)

// move ends a node and starts it at another address.
func (c *testCluster) move(n *Node) *Node {
	c.t.Helper()
	c.close(n)
	moved := c.open(elsewhere(c.t, n.o))
	c.nodes = append(c.nodes, moved)
	return moved
}

// elsewhere are the options of a node at another address, which knows of others by what
// it has on disk.
func elsewhere(t testing.TB, o Options) Options {
	o.Raft, o.Bind, o.Network, o.Peers = freeAddresses(t, 1)[0], "", nil, nil
	return o
}

// knows waits until the leader reaches all its members where they are.
func (c *testCluster) knows() {
	c.t.Helper()
	want := map[string]string{}
	for _, n := range c.nodes {
		want[n.identity().Node] = n.o.Raft
	}
	eventually(c.t, "the leader reaches all where they are", func() bool {
		status := c.leader().Status()
		for _, m := range status.Members {
			if m.Raft != want[m.Node] || !m.Online || m.Client == "" {
				return false
			}
		}
		return len(status.Members) == len(want)
	})
}

func TestAddressOfAFollowerChanges(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, nil)
	leader := c.leader()
	c.takeAll(leader, " before")
	c.agree() // all know all members
	moved := c.move(c.other(leader))
	c.takeAll(moved, "")
	c.knows()
	c.agree()
	self := moved.memberOf(moved.identity().Node)
	for what, m := range map[string]Member{
		"of another node": {Node: self.Node, Raft: leader.o.Raft},
		"of nobody":       {Node: newNodeID(), Raft: freeAddresses(t, 1)[0]},
		"without a host":  {Node: self.Node, Raft: ":1"},
	} {
		if err := c.leader().announced(t.Context(), m); err == nil {
			t.Errorf("the leader takes an address %s: %+v", what, m)
		}
	}
	leader = c.leader()
	if err := leader.links.call(t.Context(), moved.o.Raft, callAnnounce, self, nil); err == nil || !strings.Contains(err.Error(), "tells about") {
		t.Errorf("a node tells about another one: %v", err)
	}
}

func TestAddressOfTheLeaderChanges(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 3, nil)
	c.takeAll(c.leader(), "")
	c.agree()
	moved := c.move(c.leader())
	c.takeAll(moved, " again")
	c.knows()
	c.agree()
}

func TestAddressOfTheOnlyNodeChanges(t *testing.T) {
	t.Parallel()
	c := startCluster(t, 1, nil)
	c.takeAll(c.leader(), "")
	c.takeAll(c.move(c.leader()), " again")
	c.knows()
}
