// Package testwait makes the patience of tests follow the machine: a limit that a test
// states for an idle machine grows with the time that a unit of work takes.
//
// Limits are for giving up on an event that does not come. A test waits for the event
// itself, and never asserts that something took less than a time, unless that is a
// promise, in which case its bound is scaled too.
package testwait

import (
	"sync"
	"testing"
	"time"
)

const (
	// unitRounds are the steps of a unit of work, and unitTime is how long it takes on
	// an idle machine: somewhat more than measured in 2026 on the slowest one at hand.
	unitRounds = 16_000_000
	unitTime   = 40 * time.Millisecond
	// maxScale bounds how much more patient a test gets.
	maxScale = 30
	// measuredFor is how long a measurement is used.
	measuredFor = 5 * time.Second
	// least and most bound the pause between two looks at a condition.
	least, most = time.Millisecond, 20 * time.Millisecond
)

var last struct {
	sync.Mutex
	at    time.Time
	scale float64
}

// Scale is how much slower than when idle the machine is, at least 1 and at most
// maxScale. Cost: a unit of work, unless there was one in the last seconds. Many may
// call it at once.
func Scale() float64 {
	last.Lock()
	defer last.Unlock()
	if last.scale == 0 || time.Since(last.at) > measuredFor {
		last.scale = scaleOf(unitOfWork())
		last.at = time.Now()
	}
	return last.scale
}

// scaleOf is the scale of a machine on which a unit of work takes that long.
func scaleOf(took time.Duration) float64 {
	return min(max(1, float64(took)/float64(unitTime)), maxScale)
}

// unitOfWork measures computation and the wait for a processor before it.
func unitOfWork() time.Duration {
	begin := time.Now()
	woken := make(chan struct{})
	time.AfterFunc(0, func() { close(woken) })
	<-woken
	state := uint64(begin.UnixNano()) | 1
	for range unitRounds { // Marsaglia's xorshift: nothing to be optimised away
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
	}
	if state == 0 {
		panic("testwait: xorshift has reached zero")
	}
	return time.Since(begin)
}

// Scaled is a limit for an idle machine as this one needs it.
func Scaled(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * Scale())
}

// Soon is the deadline of an event that is at most a limit away on an idle machine.
func Soon(limit time.Duration) time.Time { return time.Now().Add(Scaled(limit)) }

// Until waits for an event and ends the test if it does not happen within a limit, which
// is for an idle machine. The scale is measured again before the test is ended, for a
// machine may get busy meanwhile. happens is called in the goroutine of the caller.
func Until(t testing.TB, limit time.Duration, event string, happens func() bool) {
	t.Helper()
	begin := time.Now()
	deadline := begin.Add(limit)
	for pause := least; !happens(); pause = min(2*pause, most) {
		if now := time.Now(); now.After(deadline) {
			scale := Scale()
			if deadline = begin.Add(time.Duration(scale * float64(limit))); now.After(deadline) {
				t.Fatalf("not within %v (%v, %.1f times as long for a busy machine): %s", now.Sub(begin).Round(time.Millisecond), limit, scale, event)
			}
		}
		time.Sleep(pause)
	}
}
