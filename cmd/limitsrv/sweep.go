package main

import (
	"sync"
	"time"

	"limitsrv/beat"
)

// Sweeping looks at every key about once in sweepRound, a bounded number at a
// time. With few keys it wakes up less often than each sweepTick.
const (
	sweepRound   = time.Minute
	sweepTick    = 20 * time.Millisecond
	maxSweepTick = time.Second
	// pageKeys is how many keys there are in a page of Engine.Sweep, about.
	pageKeys = 60
	// sweepSteps bounds the steps of one tick.
	sweepSteps = 16
)

// startSweeping forgets rested keys until the function that it returns is called,
// which waits for the last step. Where much is found it looks again at once.
func (n *node) startSweeping() (stop func()) {
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
			keys := n.state.Engine().Len()
			timer.Reset(beat.Wait(sweepEvery(keys)))
			pages := sweepPages(keys)
			for range sweepSteps {
				if n.state.Sweep(pages) < int64(pages)*pageKeys/4 {
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

// sweepEvery is how long to wait between two ticks where there are so many keys: the
// time in which sweepRound has room for a page of each.
func sweepEvery(keys int64) time.Duration {
	return min(max(sweepRound*pageKeys/time.Duration(keys+1), sweepTick), maxSweepTick)
}

// sweepPages is how many pages one step looks at where there are so many keys.
func sweepPages(keys int64) int {
	const ticks = int64(sweepRound / sweepTick)
	return 1 + int(keys/(pageKeys*ticks))
}
