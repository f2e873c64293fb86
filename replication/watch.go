package replication

import (
	"fmt"
	"time"
)

const (
	watchEvery = 50 * time.Millisecond
	// leaderHang is how long the disk of the leader may take for one write. Raft v1.7.3
	// goes on with heartbeats meanwhile, so that nobody else is elected (issue 503).
	leaderHang = time.Second
	// followerHang is how long that of another node may: the cluster goes on without it.
	followerHang = 30 * time.Second
)

// watchDisk is the goroutine that ends a node whose disk hangs.
func (n *Node) watchDisk() {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.stopping.Done():
			return
		case <-ticker.C:
		}
		s := n.seat.Load()
		if s == nil {
			continue
		}
		most := followerHang
		if isLeader(s.raft) {
			most = leaderHang
		}
		if took := s.logs.hangs(); took > most {
			n.fatal(fmt.Errorf("the disk has not answered a write to the log for %v", took.Round(time.Millisecond)))
			return
		}
	}
}
