package replication

import (
	"context"
	"slices"
	"sync"
	"time"
)

// waitPollInterval is the interval at which other nodes are polled while Wait calls are
// pending.
const waitPollInterval = 20 * time.Millisecond

// waiters are the pending calls of Wait. One goroutine polls the other nodes for all of
// them, so their number does not change the load on the links.
type waiters struct {
	mu     sync.Mutex
	all    map[*waiter]struct{}
	asking bool // the polling goroutine runs; it ends when no call is pending
}

// A waiter waits until a number of other nodes have an entry.
type waiter struct {
	index    uint64
	replicas int
	reached  chan struct{} // closed when they have
}

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

// add registers x and reports whether the caller must start the polling goroutine.
func (w *waiters) add(x *waiter) (ask bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[*waiter]struct{})
	}
	w.all[x] = struct{}{}
	ask, w.asking = !w.asking, true
	return ask
}

func (w *waiters) drop(x *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, x)
}

// release ends the waits that are satisfied by the last entries of the other nodes, and
// reports whether any remain; if not, the polling goroutine must end.
func (w *waiters) release(last []uint64) bool {
	slices.Sort(last)
	slices.Reverse(last)
	w.mu.Lock()
	defer w.mu.Unlock()
	for x := range w.all {
		if x.replicas <= len(last) && last[x.replicas-1] >= x.index {
			close(x.reached)
			delete(w.all, x)
		}
	}
	w.asking = len(w.all) > 0
	return w.asking
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
