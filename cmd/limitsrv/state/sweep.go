package state

import (
	"context"
	"time"

	"limitsrv/beat"
)

// A sweep visits every key about once per sweepRound, in bounded steps. With few keys
// its ticks are further apart than sweepTick.
const (
	sweepRound   = time.Minute
	sweepTick    = 20 * time.Millisecond
	maxSweepTick = time.Second
	// pageKeys is the approximate number of keys in a page of Engine.Sweep.
	pageKeys = 60
	// sweepSteps bounds the number of steps per tick.
	sweepSteps = 16
)

// StartSweeping removes expired keys in the background until stop is called; stop waits
// for the current tick. A step that removed many keys is followed by another one at
// once.
func StartSweeping(s State) (stop func()) {
	return beat.Start(func(ctx context.Context) {
		keys := int64(0) // at the last beat
		beat.EveryFunc(ctx, func() time.Duration {
			keys = s.Engine().Len()
			return sweepInterval(keys)
		}, func() { sweep(s, sweepPages(keys)) })
	})
}

// sweep removes expired keys, at most sweepSteps times that many pages.
func sweep(s State, pages int) {
	for range sweepSteps {
		if s.Sweep(pages) < int64(pages)*pageKeys/4 {
			break
		}
	}
}

// sweepInterval returns the time between two ticks with that many keys, so that one
// page per tick completes a sweep in sweepRound.
func sweepInterval(keys int64) time.Duration {
	return min(max(sweepRound*pageKeys/time.Duration(keys+1), sweepTick), maxSweepTick)
}

// sweepPages returns the number of pages per step with that many keys.
func sweepPages(keys int64) int {
	const ticks = int64(sweepRound / sweepTick)
	return 1 + int(keys/(pageKeys*ticks))
}
