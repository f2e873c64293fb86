package replication

import (
	"slices"
	"sync"
	"time"

	"limitsrv/engine"
)

// A leaderClock is the time of the cluster while a node leads it. It continues from the
// last stamp of the log by the node's monotonic clock:
//
//   - Before the first decision of a leader it makes one step, which accounts for the time
//     without a leader: forward, by no more than the time since the last decision, and not
//     beyond the clocks of a majority. No decision lies between the loss and the step, so
//     no window of real time admits more than without them.
//   - After that it gains or loses at most one part in engine.MaxSlew, towards the clocks
//     of a majority. Without the answers of a majority it runs at normal speed.
//
// The clocks of a majority are represented by the lower median of all voters' clocks, so
// that no minority can move it. It never goes back while a node leads.
type leaderClock struct {
	mono func() time.Duration

	mu    sync.Mutex
	at    engine.Instant // the time at since
	since time.Duration
	slew  time.Duration // still to be gained, or lost, from since on
}

// clockWarnDistance is the longest distance to the followed clocks that is not logged with
// a warning.
const clockWarnDistance = time.Second

func newLeaderClock(mono func() time.Duration) *leaderClock {
	return &leaderClock{mono: mono}
}

// start sets the clock to the last stamp, at normal speed.
func (c *leaderClock) start(last engine.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.since, c.slew = last, c.mono(), 0
}

// step moves the clock forward to target, if target is later, and returns the distance.
// target may be any value.
func (c *leaderClock) step(target engine.Instant) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono := c.mono()
	c.at, c.since, c.slew = c.timeAt(mono), mono, 0
	from := c.at
	c.at = max(from, target)
	return time.Duration(c.at - from)
}

// now returns the time. Concurrency: any goroutine; between two starts a later call
// returns no less.
func (c *leaderClock) now() engine.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeAt(c.mono())
}

// timeAt returns the time at a reading of the monotonic clock. Requires: mu is held.
func (c *leaderClock) timeAt(mono time.Duration) engine.Instant {
	elapsed := mono - c.since
	most := elapsed / engine.MaxSlew
	return c.at + engine.Instant(elapsed+min(max(c.slew, -most), most))
}

// follow slews the clock towards target from here on, and returns the distance.
func (c *leaderClock) follow(target engine.Instant) (off time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono := c.mono()
	c.at, c.since = c.timeAt(mono), mono
	c.slew = time.Duration(target - c.at)
	return c.slew
}

// freeRun makes the clock run at normal speed from here on.
func (c *leaderClock) freeRun() { c.follow(c.now()) }

// clockOffset returns the difference between the lower median of all voters' clocks and the
// first of the given clocks. differences are relative to that first clock and include its
// own 0. Clocks that are not given count as slow: if a minority is wrong, the result is no
// later than a correct clock. Requires: the clocks of a majority.
func clockOffset(differences []time.Duration, voters int) time.Duration {
	sorted := slices.Sorted(slices.Values(differences))
	return sorted[len(sorted)-1-voters/2]
}
