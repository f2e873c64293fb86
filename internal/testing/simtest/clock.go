package simtest

import (
	"sync"
	"time"

	"limitsrv/engine"
)

// A Clock is the clock of a machine, with an offset and a speed. Concurrency: any goroutine
// may use it.
type Clock struct {
	mu    sync.Mutex
	from  time.Time      // of the last change
	read  engine.Instant // reading at that time
	speed float64
}

// NewClock returns a clock with an offset and the right speed.
func NewClock(off time.Duration) *Clock {
	now := time.Now()
	return &Clock{from: now, read: engine.Instant(now.Add(off).UnixNano()), speed: 1}
}

// Wall returns its reading.
func (c *Clock) Wall() engine.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	passed := time.Since(c.from)
	return c.read + engine.Instant(passed) + engine.Instant(float64(passed)*(c.speed-1))
}

// Set sets its offset and its speed, where 1 is correct.
func (c *Clock) Set(off time.Duration, speed float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.from = time.Now()
	c.read, c.speed = engine.Instant(c.from.Add(off).UnixNano()), speed
}

// Off returns its error.
func (c *Clock) Off() time.Duration {
	return time.Duration(c.Wall() - engine.Instant(time.Now().UnixNano()))
}
