package replication

import (
	"context"
	"slices"
	"sync"
	"time"
)

// waitEvery is how often the others are asked while anybody waits for them.
const waitPollInterval = 20 * time.Millisecond

// waiters are those that wait until others have an entry. The others are asked for all
// of them at once: however many there are, the links see no more of it.
type waiters struct {
	mu     sync.Mutex
	all    map[*waiter]struct{}
	asking bool // a goroutine asks the others, and ends when nobody waits
}

// A waiter waits until so many others have an entry.
type waiter struct {
	index    uint64
	replicas int
	reached  chan struct{} // closed when it is so
}

// Wait calls done with how many other members have all that was decided before the
// call, from another goroutine: as soon as it is at least replicas, or else when the
// timeout is over or ctx ends. It calls done before it returns with 0 replicas, with
// what it heard of the others last, and on a node that does not lead, with 0.
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

// add says whether the caller is to see that somebody asks.
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

// tell tells whoever has waited long enough, the last entries of the others being
// known, and says whether anybody still waits; if not, nobody asks any more.
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

// askForWaiters is the goroutine that asks the others while anybody waits.
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
