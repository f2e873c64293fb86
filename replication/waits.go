package replication

import (
	"context"
	"time"
)

// waitEvery is how often Wait asks the others.
const waitEvery = 20 * time.Millisecond

// Wait calls done with how many other members have all that was decided before the
// call, from another goroutine: as soon as it is at least replicas, or else when the
// timeout is over or ctx ends. It calls done before it returns with 0 replicas, with
// what it heard of the others last, and on a node that does not lead, with 0.
func (n *Node) Wait(ctx context.Context, replicas int, timeout time.Duration, done func(replicas int)) {
	s, err := n.leaderSeat()
	if err != nil {
		done(0)
		return
	}
	index := s.raft.LastIndex()
	if replicas <= 0 {
		done(n.reached(index))
		return
	}
	n.wait.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		defer context.AfterFunc(n.stopping, cancel)()
		done(n.waitFor(ctx, s, index, replicas))
	})
}

// reached is how many others are known to have an entry.
func (n *Node) reached(index uint64) (have int) {
	for _, p := range n.known.news() {
		if p.LastIndex >= index {
			have++
		}
	}
	return have
}

func (n *Node) waitFor(ctx context.Context, s *seat, index uint64, replicas int) (have int) {
	for {
		asking, cancel := context.WithTimeout(ctx, n.callTimeout())
		n.poll(asking, s, n.wall, false)
		cancel()
		if have = n.reached(index); have >= replicas {
			return have
		}
		select {
		case <-ctx.Done():
			return have
		case <-time.After(waitEvery):
		}
	}
}
