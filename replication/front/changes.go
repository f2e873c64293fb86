package front

import (
	"context"
	"sync"

	"limitsrv/engine"
	"limitsrv/replication/fronts"
)

// changes has the last fronts.Watched.Told that this front has passed to its clients.
// Concurrency: any goroutine.
type changes struct {
	mu   sync.Mutex
	told uint64
	lost uint64        // how often the clients were told that any key may have changed, or none tracked
	next chan struct{} // closed when told or lost changes
}

func newChanges() *changes { return &changes{next: make(chan struct{})} }

// lose tells the clients that any key may have changed.
func (c *changes) lose(n *engine.Notices) {
	n.Outdated()
	c.release()
}

// release ends all await.
func (c *changes) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost, c.told = c.lost+1, 0
	c.wake()
}

// wake wakes all await. Requires: mu is held.
func (c *changes) wake() {
	close(c.next)
	c.next = make(chan struct{})
}

// note tells the clients the news that answer a request.
func (c *changes) note(n *engine.Notices, q fronts.WatchRequest, w *fronts.Watched) {
	if !q.Tracks {
		c.release()
		return
	}
	if !w.Tracked {
		c.lose(n)
	} else if len(w.Changed) > 0 {
		var list []engine.Change
		for key := range w.Changed.All {
			list = append(list, engine.Change{Key: key})
		}
		n.Changed(list)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.Told != c.told {
		c.told = w.Told
		c.wake()
	}
}

// losses returns the number of calls of lose so far.
func (c *changes) losses() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// await waits until the clients that track were told of the changes up to told, or that any key may have
// changed since losses returned lost. told 0: the leader does not know yet that clients track, so its next
// news are that any key may have changed. It returns false if ctx ends first.
func (c *changes) await(ctx context.Context, told, lost uint64) bool {
	for {
		c.mu.Lock()
		done, next := told > 0 && c.told >= told || c.lost != lost, c.next
		c.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-next:
		case <-ctx.Done():
			return false
		}
	}
}
