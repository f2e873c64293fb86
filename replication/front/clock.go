package front

import (
	"sync"
	"time"

	"limitsrv/engine"
)

// A clock follows the clock of the leader. Concurrency: any goroutine.
type clock struct {
	wall func() engine.Instant
	mono func() time.Duration

	mu   sync.Mutex
	base engine.Instant // the time at mono 0; 0: unknown
	last engine.Instant
}

func (c *clock) now() engine.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.base + engine.Instant(c.mono())
	if c.base == 0 {
		now = c.wall()
	}
	c.last = max(c.last, now)
	return c.last
}

// set sets the time of the leader.
func (c *clock) set(now engine.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.base = now - engine.Instant(c.mono())
}
