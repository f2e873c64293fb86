package replication

import (
	"slices"
	"sync"
	"time"

	"limitsrv/engine"
)

// A leaderClock is the time of the cluster while a node leads it. It goes on from the
// last stamp of the log by the node's monotonic clock:
//
//   - Before the first decision of a leader it makes one step, which makes good the time
//     without a leader: forward, by no more than has passed since the last decision, and
//     not beyond the clocks of a majority. No decision lies between the loss and the step,
//     so no window of real time holds more than without them.
//   - After that it gains or loses at most one part in engine.MaxSlew, towards the clocks
//     of a majority. Without the word of a majority it goes at normal speed.
//
// The clocks of a majority are the lower median of those of all voters, so that no
// minority can move it. It never goes back while a node leads.
type leaderClock struct {
	mono func() time.Duration

	mu    sync.Mutex
	at    engine.Instant // at since
	since time.Duration
	slew  time.Duration // to be gained, or lost, from since on
}

// clockFar is from where on it is told how far the clock is from those that it follows.
const clockWarnDistance = time.Second

func newLeaderClock(mono func() time.Duration) *leaderClock {
	return &leaderClock{mono: mono}
}

// start sets the clock to the last stamp. Normal speed follows.
func (c *leaderClock) start(last engine.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.since, c.slew = last, c.mono(), 0
}

// step moves the clock forward to target, if it is behind, and returns by how much.
func (c *leaderClock) step(target engine.Instant) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono := c.mono()
	c.at, c.since, c.slew = c.timeAt(mono), mono, 0
	by := max(target-c.at, 0)
	c.at += by
	return time.Duration(by)
}

// now is the time. Many may call it; between two starts a later call returns no less.
func (c *leaderClock) now() engine.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.timeAt(c.mono())
}

// tell is the time at a reading of the monotonic clock. mu is held.
func (c *leaderClock) timeAt(mono time.Duration) engine.Instant {
	elapsed := mono - c.since
	most := elapsed / engine.MaxSlew
	return c.at + engine.Instant(elapsed+min(max(c.slew, -most), most))
}

// steer has the clock follow target from here on, and returns how far off it is.
func (c *leaderClock) follow(target engine.Instant) (off time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono := c.mono()
	c.at, c.since = c.timeAt(mono), mono
	c.slew = time.Duration(target - c.at)
	return c.slew
}

// coast has the clock go at normal speed from here on.
func (c *leaderClock) freeRun() { c.follow(c.now()) }

// clockOffset is how far the lower median of the clocks of all voters is from the first of
// some of them, given as differences to that one, its own 0 included. The clocks that are
// not given count as behind: where a minority is wrong it is no later than a right one.
// Requires the clocks of a majority.
func clockOffset(differences []time.Duration, voters int) time.Duration {
	sorted := slices.Sorted(slices.Values(differences))
	return sorted[len(sorted)-1-voters/2]
}
