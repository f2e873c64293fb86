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

// heard corrects the clock by now, the leader's time in an answer. The leader read it between since, a time
// of [clock.mono], and this call. That bounds the base from below and above. A base between the bounds
// stays, so a late answer does not move the clock back.
func (c *clock) heard(now engine.Instant, since time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	low, high := now-engine.Instant(c.mono()), now-engine.Instant(since)
	if c.base == 0 {
		c.base = low
	}
	c.base = max(low, min(c.base, high))
}
