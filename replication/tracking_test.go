package replication

import (
	"slices"
	"sync"
	"testing"

	"limitsrv/engine"
)

// TestNodesTellOfChanges: each node tells its clients of a change that any node was asked for, and of all keys
// when leadership moves or the leader is lost.
func TestNodesTellOfChanges(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		told = map[string][]string{} // by address; "" is all keys
	)
	c := startCluster(t, 3, func(o *Options) {
		address := o.Raft
		o.Notices = new(engine.Notices)
		o.Notices.HandleChanges(func(changes []engine.Change) {
			mu.Lock()
			defer mu.Unlock()
			for _, c := range changes {
				told[address] = append(told[address], string(c.Key))
			}
		})
		o.Notices.Track(1)
		keepLeader(o)
	})
	everywhere := func(event, key string, happens func()) {
		t.Helper()
		mu.Lock()
		clear(told)
		mu.Unlock()
		happens()
		eventually(t, event+" is told everywhere", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return !slices.ContainsFunc(c.nodes, func(n *Node) bool { return !slices.Contains(told[n.o.Raft], key) })
		})
	}
	eventually(t, "all nodes are current", func() bool {
		return !slices.ContainsFunc(c.nodes,
			func(n *Node) bool { s := n.stack.Load(); return s == nil || !s.FSM.IsCurrent() })
	})
	follower := c.other(c.leader())
	everywhere("a change", "lease", func() { c.takeAll(follower, "") })
	leader := c.leader()
	everywhere("another leader", "", func() {
		if err := c.changed(follower, Change{Kind: Transfer}); err != nil {
			t.Fatal(err)
		}
	})
	eventually(t, "another one leads", func() bool { return c.leader() != leader })
	everywhere("the loss of a leader", "", func() { c.close(c.leader()) })
}

// TestChangesNeedNoHeartbeat: a node with clients that track keys applies a change of another node
// although no later entry and no heartbeat says that it is committed.
func TestChangesNeedNoHeartbeat(t *testing.T) {
	t.Parallel()
	c, first := startSilentCluster(t, func(*Options) {})
	follower := c.other(first)
	follower.o.Notices.Track(1)
	for range 5 {
		c.takeAll(first, "")
		last := first.stack.Load().FSM.Index()
		eventually(t, "the change is applied", func() bool { return follower.stack.Load().FSM.Index() >= last })
	}
}
