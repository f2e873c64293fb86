package replication

import (
	"testing"
	"time"
)

// After an idle result the next call is due after maxIdleTicks or when the log has
// changed; after any other result it is due at once.
func TestPollBackoff(t *testing.T) {
	var c pollBackoff
	for i, step := range []struct {
		term, last uint64
		idle, due  bool
	}{
		{1, 5, false, true}, {1, 5, false, true}, {1, 5, true, true}, // the first, and until the cluster is idle
		{1, 5, true, false}, {1, 5, true, false}, {1, 5, true, false}, {1, 5, true, false}, {1, 5, true, true},
		{1, 6, true, true}, {1, 6, true, false}, // an entry
		{2, 6, true, true}, {2, 6, false, false}, // a term
		{2, 6, true, true}, // not idle
	} {
		if got := c.due(step.term, step.last); got != step.due {
			t.Errorf("in second %d a call is due: %v, want %v", i, got, step.due)
		}
		c.record(step.idle)
	}
}

// Nodes of an idle cluster rarely call each other, still count as online, and a failed node
// soon does not.
func TestSimIdlePolling(t *testing.T) {
	simCase(t, func(t *testing.T, c *simCluster) {
		c.setClients(false, true)
		time.Sleep(10 * time.Second)
		dials := func() int {
			c.net.mu.Lock()
			defer c.net.mu.Unlock()
			return c.net.dials
		}
		const seconds = 60
		before := dials()
		for range seconds {
			time.Sleep(time.Second)
			for _, n := range c.all() {
				for _, m := range n.running().node.Nodes("") {
					if !m.Online {
						t.Fatalf("%s reports %s as offline, last seen %v ago", n.name, m.ID, m.LastContact)
					}
				}
			}
		}
		if got, most := dials()-before, seconds; got > most {
			t.Errorf("in %d s the nodes made %d links, at most %d are allowed", seconds, got, most)
		}
		leader := c.leader()
		c.withFollower(func(n *simNode) {
			id := n.running().node.identity().Node
			n.running().crash(100)
			time.Sleep(5 * time.Second)
			for _, m := range leader.running().node.Nodes("") {
				if m.ID == id && m.Online {
					t.Errorf("a node that ended 5 s ago is online, last seen %v ago", m.LastContact)
				}
			}
		})
		c.converge("a calm")
	})
}
