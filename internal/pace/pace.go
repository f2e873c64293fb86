// Package pace runs long computations so that other goroutines wait little.
package pace

import (
	"runtime"
	"time"
)

// A Pace is for a computation in many short steps, of at most some microseconds each. The
// runtime lets it hold a processor for 10 ms while others wait; with a Pace these wait for
// half a millisecond at most. The zero value is ready. Concurrency: one goroutine may use it.
type Pace struct {
	steps int
	began time.Time
}

const (
	// slice is the time after which others run. Each time the computation may have to wait
	// for dozens of them on a busy machine, so that a shorter one makes it much longer.
	slice = 500 * time.Microsecond
	// stepsPerLook is the number of steps between two looks at the clock.
	stepsPerLook = 16
)

// Step is called at each step. Cost: 5 ns on average, and the time of others.
func (p *Pace) Step() {
	if p.steps++; p.steps%stepsPerLook != 0 {
		return
	}
	if time.Since(p.began) >= slice {
		runtime.Gosched()
		p.began = time.Now()
	}
}
