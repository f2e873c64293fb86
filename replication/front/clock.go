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

// heard takes the time that an answer of the leader tells. The leader read it after since, a time of
// [clock.mono], and before now. So the time at mono 0 lies between two bounds. A time that was known and
// lies between them stays: an answer that was late on its way changes nothing.
func (c *clock) heard(now engine.Instant, since time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	low, high := now-engine.Instant(c.mono()), now-engine.Instant(since)
	if c.base == 0 {
		c.base = low
	}
	c.base = max(low, min(c.base, high))
}
