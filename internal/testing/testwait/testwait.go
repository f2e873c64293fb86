// Package testwait scales the time limits of tests with the load of the machine: a limit
// stated for an idle machine is multiplied by the measured slowdown of a unit of work.
//
// Limits serve to give up on an event that does not come. A test must wait for the event
// itself, and must not assert that an operation took less than a time, unless that is a
// promise, as it is for code that must not be quadratic; then Within is for it.
//
// A Log collects the log of the code under test.
package testwait

import (
	"errors"
	"math"
	"sync"
	"testing"
	"time"
)

const (
	// unitRounds is the number of steps of a unit of work, and unitTime its duration on
	// an idle machine: somewhat more than measured in 2026 on the slowest one available.
	unitRounds = 16_000_000
	unitTime   = 40 * time.Millisecond
	// maxScale bounds the scale.
	maxScale = 30
	// measuredFor is how long a measurement is used.
	measuredFor = 5 * time.Second
	// tries is the number of calls that Within makes; one of them must be fast.
	tries = 5
	// least and most bound the pause between two checks of a condition.
	least, most = time.Millisecond, 20 * time.Millisecond
)

var last struct {
	sync.Mutex
	at    time.Time
	scale float64
}

// Scale returns the slowdown of the machine, from 1 (idle) to maxScale. Cost: a unit of
// work, unless there was a measurement within measuredFor. Concurrency: any goroutine may
// call it.
func Scale() float64 {
	last.Lock()
	defer last.Unlock()
	if last.scale == 0 || time.Since(last.at) > measuredFor {
		last.scale = scaleOf(unitOfWork())
		last.at = time.Now()
	}
	return last.scale
}

// scaleOf returns the scale of a machine that takes that long for a unit of work.
func scaleOf(took time.Duration) float64 {
	return min(max(1, float64(took)/float64(unitTime)), maxScale)
}

// unitOfWork returns the duration of a fixed computation and of the wait for a processor
// before it.
func unitOfWork() time.Duration {
	begin := time.Now()
	woken := make(chan struct{})
	time.AfterFunc(0, func() { close(woken) })
	<-woken
	state := uint64(begin.UnixNano()) | 1
	for range unitRounds { // Marsaglia's xorshift, which the compiler cannot remove
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
	}
	if state == 0 {
		panic("testwait: xorshift has reached zero")
	}
	return time.Since(begin)
}

// Scaled returns the limit for this machine that corresponds to limit on an idle machine.
func Scaled(limit time.Duration) time.Duration {
	return time.Duration(float64(limit) * Scale())
}

// Soon returns the deadline of an event that takes at most limit on an idle machine.
func Soon(limit time.Duration) time.Time { return time.Now().Add(Scaled(limit)) }

// Until waits for an event and fails the test if it does not happen within limit, which
// is for an idle machine. happens is called in the goroutine of the caller.
func Until(t testing.TB, limit time.Duration, event string, happens func() bool) {
	t.Helper()
	Retry(t, limit, func() error {
		if happens() {
			return nil
		}
		return errors.New(event)
	})
}

// Retry calls check until it returns nil, and fails the test with its last error if that
// takes longer than limit, which is for an idle machine. The scale is measured again
// before the test fails, because the load may have risen meanwhile. check is called in
// the goroutine of the caller.
func Retry(t testing.TB, limit time.Duration, check func() error) {
	t.Helper()
	begin := time.Now()
	deadline := begin.Add(limit)
	for pause := least; ; pause = min(2*pause, most) {
		err := check()
		if err == nil {
			return
		}
		if now := time.Now(); now.After(deadline) {
			scale := Scale()
			if deadline = begin.Add(time.Duration(scale * float64(limit))); now.After(deadline) {
				t.Fatalf("not within %v (%v, %.1f times as long for a busy machine): %v", now.Sub(begin).Round(time.Millisecond),
					limit, scale, err)
			}
		}
		time.Sleep(pause)
	}
}

// Within fails the test if several calls of f all take longer than limit, which is for an
// idle machine: a machine that stands still lengthens one call, and slow code lengthens
// all. f is called once if that is fast.
func Within(t testing.TB, limit time.Duration, name string, f func()) {
	t.Helper()
	best := time.Duration(math.MaxInt64)
	for range tries {
		begin := time.Now()
		f()
		if best = min(best, time.Since(begin)); best <= limit || best <= Scaled(limit) {
			return
		}
	}
	t.Errorf("%s takes %v at best, want at most %v on an idle machine", name, best, limit)
}
