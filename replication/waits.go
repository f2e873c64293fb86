package replication

import (
	"context"
	"time"
)

// waitEvery is how often Wait asks the others.
const waitEvery = 20 * time.Millisecond

// Wait calls done, from another goroutine, with how many other members have all that
// was decided before the call, as soon as it is at least replicas, or else when the
// timeout is over. On a node that does not lead that is 0, at once.
func (n *Node) Wait(replicas int, timeout time.Duration, done func(replicas int)) {
	n.wait.Go(func() {
		s, err := n.leaderSeat()
		if err != nil {
			done(0)
			return
		}
		ctx, cancel := context.WithTimeout(n.stopping, timeout)
		defer cancel()
		done(n.waitFor(ctx, s, s.raft.LastIndex(), replicas))
	})
}

func (n *Node) waitFor(ctx context.Context, s *seat, index uint64, replicas int) (have int) {
	for {
		asking, cancel := context.WithTimeout(ctx, n.callTimeout())
		n.poll(asking, s, false)
		cancel()
		have = 0
		for _, p := range n.known.news() {
			if p.LastIndex >= index {
				have++
			}
		}
		if have >= replicas {
			return have
		}
		select {
		case <-ctx.Done():
			return have
		case <-time.After(waitEvery):
		}
	}
}
