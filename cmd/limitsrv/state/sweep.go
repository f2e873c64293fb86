package state

import (
	"sync"
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
// for the current step. A step that removed many keys is followed by another one at
// once.
func StartSweeping(s State) (stop func()) {
	var (
		done = make(chan struct{})
		wait sync.WaitGroup
	)
	wait.Go(func() {
		timer := time.NewTimer(beat.Wait(maxSweepTick))
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
			}
			keys := s.Engine().Len()
			timer.Reset(beat.Wait(sweepInterval(keys)))
			pages := sweepPages(keys)
			for range sweepSteps {
				if s.Sweep(pages) < int64(pages)*pageKeys/4 {
					break
				}
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
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
