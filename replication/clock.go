package replication

import (
	"slices"
	"sync"
	"time"

	"limitsrv/engine"
)

// A leaderClock is the time of the cluster while a node leads it. It goes on from
// the last stamp of the log by the node's monotonic clock, and moves towards what
// the clocks of a majority of nodes say: the lower median of theirs, so that no
// minority can move it. It never goes back.
//
//   - What it is short of, up to a second, it makes up slowly: a twentieth faster.
//     What it is ahead, up to a second, it gives back as slowly.
//   - If it is behind by more, as after a time without a leader, it jumps once a majority
//     has its word, and goes on at normal speed until then: a leader that others can not
//     tell their clocks could be one of many, and each would have jumped by its own.
//   - If it is ahead by more, as after a clock that was wrong has led, it goes on at
//     normal speed, and says so.
type leaderClock struct {
	mono func() time.Duration

	mu    sync.Mutex
	at    engine.Instant // at since
	since time.Duration
	slew  time.Duration // to be gained, or lost, from since on
}

const (
	// maxSlew is how much of the elapsed time the clock gains or loses.
	maxSlew = 20 // a twentieth
	// slewing is how far it is off at most to be moved so.
	slewing = time.Second
)

func newLeaderClock(mono func() time.Duration) *leaderClock {
	return &leaderClock{mono: mono}
}

// start has the clock go on from the last stamp.
func (c *leaderClock) start(last engine.Instant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.since, c.slew = max(c.at, last), c.mono(), 0
}

// now is the time. Many may call it; one who is told later is told no less.
func (c *leaderClock) now() engine.Instant {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tell(c.mono())
}

// tell is the time at a reading of the monotonic clock. mu is held.
func (c *leaderClock) tell(mono time.Duration) engine.Instant {
	elapsed := mono - c.since
	most := elapsed / maxSlew
	return c.at + engine.Instant(elapsed+min(max(c.slew, -most), most))
}

// steer moves the clock towards target. agreed says that a majority's clocks do.
// It returns how far the clock stays off, 0 if it follows.
func (c *leaderClock) steer(target engine.Instant, agreed bool) (clamped time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mono := c.mono()
	c.at, c.since = c.tell(mono), mono
	off := time.Duration(target - c.at)
	c.slew = 0
	switch {
	case off.Abs() <= slewing:
		c.slew = off
	case off > 0 && agreed:
		c.at = target
	default:
		clamped = off
	}
	return clamped
}

// clockOffset is how far the lower median of some clocks is from the first of
// them, given as differences to that one, its own 0 included.
func clockOffset(differences []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(differences))
	return sorted[(len(sorted)-1)/2]
}
