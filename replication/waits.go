package replication

import (
	"context"
	"time"
)

// waitPollInterval is the interval between polls of other nodes while Wait calls are
// pending.
const waitPollInterval = 20 * time.Millisecond

// Wait calls done with the number of other members that have all entries decided before
// the call, from another goroutine: as soon as it is at least replicas, or else when the
// timeout expires or ctx ends. With 0 replicas it calls done before it returns, with the
// last known number, and on a node that does not lead, with 0.
func (n *Node) Wait(ctx context.Context, replicas int, timeout time.Duration, done func(replicas int)) {
	s, err := n.leaderStack()
	if err != nil {
		done(0)
		return
	}
	index := s.raft.LastIndex()
	if replicas <= 0 {
		done(n.peers.countReached(index))
		return
	}
	w := &waiter{index, replicas, make(chan struct{})}
	if n.waiters.add(w) {
		n.wait.Go(n.pollForWaiters)
	}
	n.wait.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		select {
		case <-w.reached:
		case <-ctx.Done():
		case <-n.stopping.Done():
		}
		n.waiters.drop(w)
		done(n.peers.countReached(index))
	})
}

// pollForWaiters is the goroutine that polls the other nodes while Wait calls are pending.
func (n *Node) pollForWaiters() {
	ticker := time.NewTicker(waitPollInterval)
	defer ticker.Stop()
	for {
		if s := n.stack.Load(); s != nil {
			ctx, cancel := context.WithTimeout(n.stopping, n.callTimeout())
			n.pollMembers(ctx, s, n.wall, false)
			cancel()
		}
		if !n.waiters.release(n.peers.lastIndexes()) {
			return
		}
		<-ticker.C
	}
}
