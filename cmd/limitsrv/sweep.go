package main

import (
	"sync"
	"time"
)

// Sweeping looks at every key about once in sweepRound, a bounded number at a
// time.
const (
	sweepRound = time.Minute
	sweepTick  = 20 * time.Millisecond
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
		ticker := time.NewTicker(sweepTick)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			pages := sweepPages(n.state.Engine().Len())
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

// sweepPages is how many pages one step looks at where there are so many keys.
func sweepPages(keys int64) int {
	const ticks = int64(sweepRound / sweepTick)
	return 1 + int(keys/(pageKeys*ticks))
}
