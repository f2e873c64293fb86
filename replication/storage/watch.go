package storage

import (
	"fmt"
	"time"

	"limitsrv/persist"
)

const (
	// LeaderHang is the longest time that the leader's disk may take for one write. Raft
	// v1.7.3 continues heartbeats meanwhile, so that no other node is elected (issue 503).
	LeaderHang = time.Second
	// FollowerHang is that limit for other nodes: the cluster continues without them.
	FollowerHang = 30 * time.Second
)

// CheckWrites returns whether a write is under way. It returns an error if a write has taken too
// long. leads says whether the node leads: a leader has a shorter limit.
func (f *Files) CheckWrites(leads bool) (busy bool, err error) {
	most := FollowerHang
	if leads {
		most = LeaderHang
	}
	for _, w := range []struct {
		name  string
		watch *persist.Stopwatch
		most  time.Duration
	}{
		{"the log", f.logWrites, most},
		{"the term and the vote", f.voteWrites, most},
		{"a snapshot", f.snapshotWrites, FollowerHang},
	} {
		took, running := w.watch.Running()
		busy = busy || running
		if took > w.most {
			return true, fmt.Errorf("the disk has not answered a write of %s for %v", w.name, took.Round(time.Millisecond))
		}
	}
	return busy, nil
}
