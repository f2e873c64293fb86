package state

import (
	"context"
	"time"

	"limitsrv/internal/beat"
)

// A sweep visits each key about once per round, in bounded steps. With few keys a round takes
// shortRound, so that an expired key leaves DBSIZE within a second. No round takes longer than
// sweepRound.
const (
	shortRound = time.Second / 2
	sweepRound = time.Minute
	// sweepRate is the number of keys that are visited per second, within the bounds of a round.
	sweepRate = 100_000
	// sweepTick is the shortest time between two ticks. idleTick is the time between two ticks
	// without keys.
	sweepTick = 20 * time.Millisecond
	idleTick  = time.Second
	// pageKeys is less than the usual number of keys in a page of Engine.Sweep. leastPages is more
	// than the number of shards; each shard has at least one page.
	pageKeys   = 30
	leastPages = 64
	// tickPages is the number of pages that a tick sweeps, unless sweepTick requires more.
	tickPages = 256
	// sweepSteps bounds the number of steps per tick.
	sweepSteps = 16
)

// StartSweeping removes expired keys in the background until stop is called; stop waits for
// the current tick. A step that removed many keys is followed by another step at once.
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
		if s.Sweep(pages) < int64(pages)*pageKeys/2 {
			break
		}
	}
}

// roundOf returns the duration and the number of pages of a round with this many keys.
func roundOf(keys int64) (round time.Duration, pages int64) {
	seconds := min(keys/sweepRate, int64(sweepRound/time.Second))
	return max(shortRound, time.Duration(seconds)*time.Second), leastPages + keys/pageKeys
}

// sweepInterval returns the time between two ticks with this many keys.
func sweepInterval(keys int64) time.Duration {
	if keys == 0 {
		return idleTick
	}
	round, pages := roundOf(keys)
	return max(round/time.Duration(max(1, pages/tickPages)), sweepTick)
}

// sweepPages returns the number of pages per tick with this many keys.
func sweepPages(keys int64) int {
	round, pages := roundOf(keys)
	return 1 + int(pages/max(1, int64(round/sweepInterval(keys))))
}
