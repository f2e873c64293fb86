package replication

import (
	"fmt"
	"time"

	"limitsrv/persist"
)

const (
	// leaderHang is the longest time that the leader's disk may take for one write. Raft
	// v1.7.3 continues heartbeats meanwhile, so that no other node is elected (issue 503).
	leaderHang = time.Second
	// followerHang is that limit for other nodes: the cluster continues without them.
	followerHang = 30 * time.Second
)

// watchDisk is the goroutine that ends a node with a hanging disk. Time in which the
// process did not run does not count.
func (n *Node) watchDisk() {
	n.disk.Run(n.stopping, func() bool {
		s := n.stack.Load()
		if s == nil {
			return false
		}
		busy, err := s.checkWrites(isLeader(s.raft))
		if err != nil {
			n.fatal(err)
		}
		return busy
	})
}

// checkWrites returns whether a write is under way, and an error if one has taken too
// long.
func (s *raftStack) checkWrites(leads bool) (busy bool, err error) {
	most := followerHang
	if leads {
		most = leaderHang
	}
	for _, w := range []struct {
		name  string
		watch *persist.Stopwatch
		most  time.Duration
	}{
		{"the log", s.logWrites, most},
		{"the term and the vote", s.voteWrites, most},
		{"a snapshot", s.snapshotWrites, followerHang},
	} {
		took, running := w.watch.Running()
		busy = busy || running
		if took > w.most {
			return true, fmt.Errorf("the disk has not answered a write of %s for %v", w.name, took.Round(time.Millisecond))
		}
	}
	return busy, nil
}
