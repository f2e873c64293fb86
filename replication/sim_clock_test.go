package replication

import (
	"sync"
	"time"

	"limitsrv/engine"
)

// A simClock is the clock of a machine, with an offset and a speed.
type simClock struct {
	mu    sync.Mutex
	from  time.Time      // of the last change
	read  engine.Instant // reading at that time
	speed float64
}

func newSimClock(off time.Duration) *simClock {
	now := time.Now()
	return &simClock{from: now, read: engine.Instant(now.Add(off).UnixNano()), speed: 1}
}

// Wall returns its reading.
func (c *simClock) Wall() engine.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall()
}

func (c *simClock) wall() engine.Instant {
	passed := time.Since(c.from)
	return c.read + engine.Instant(passed) + engine.Instant(float64(passed)*(c.speed-1))
}

// set sets its offset and its speed, where 1 is correct.
func (c *simClock) set(off time.Duration, speed float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = time.Now()
	c.read, c.speed = engine.Instant(c.from.Add(off).UnixNano()), speed
}

// off returns its error.
func (c *simClock) off() time.Duration {
	return time.Duration(c.Wall() - engine.Instant(time.Now().UnixNano()))
}
