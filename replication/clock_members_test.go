package replication

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/status"
)

// TestMemberClocks sets the clock of each node wrong in turn. The leader must name that node, also if
// it is the leader itself.
func TestMemberClocks(t *testing.T) {
	t.Parallel()
	const wrong = 90 * time.Second
	var offsets [3]atomic.Int64
	started := 0
	c := startCluster(t, len(offsets), func(o *Options) {
		offset := &offsets[started]
		started++
		keepLeader(o)
		o.Wall = func() engine.Instant { return engine.Instant(time.Now().UnixNano() + offset.Load()) }
	})
	for i, address := range c.peers {
		offsets[i].Store(int64(wrong))
		eventually(t, "the leader names the node with the wrong clock", func() bool {
			leader := c.leader()
			leader.syncClock(context.Background(), leader.stack.Load())
			return hasClocks(leader.Nodes(""), address, wrong)
		})
		offsets[i].Store(0)
	}
	for _, n := range c.nodes {
		for _, m := range n.Nodes("") {
			if m.ClockKnown && !n.leadership().leading {
				t.Errorf("a follower knows that the clock of %s is off by %v", m.Raft, m.ClockOffset)
			}
		}
	}
}

// hasClocks reports whether the clock of one node is off by about so much, and all other clocks are
// right.
func hasClocks(nodes []status.Node, address string, off time.Duration) bool {
	for _, m := range nodes {
		want := time.Duration(0)
		if m.Raft == address {
			want = off
		}
		if !m.ClockKnown || (m.ClockOffset-want).Abs() > 10*time.Second {
			return false
		}
	}
	return len(nodes) == 3
}
