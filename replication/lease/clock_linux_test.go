package lease

import (
	"math/rand/v2"
	"testing"
	"time"

	"limitsrv/internal/testing/testwait"
)

// TestBootClock suspends a machine and sets its wall clock at random moments, and compares the clock
// with the time that has passed.
func TestBootClock(t *testing.T) {
	seed := testwait.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	var passed, mono, wall time.Duration
	reads := 0
	run := func(d time.Duration) { passed, mono, wall = passed+d, mono+d, wall+d }
	c := bootClock{
		mono: func() time.Duration { return mono },
		read: func() time.Duration {
			reads++
			run(time.Duration(rng.Int64N(int64(50 * time.Microsecond))))
			if rng.IntN(4) == 0 {
				run(time.Duration(rng.Int64N(int64(time.Second)))) // the process is paused
			}
			return passed
		},
	}
	jumps := 0
	for range 20_000 {
		run(time.Duration(rng.Int64N(int64(time.Millisecond))))
		switch rng.IntN(20) {
		case 0: // Linux wakes the machine up
			d := 2*wallChange + time.Duration(rng.Int64N(int64(time.Hour)))
			passed, wall = passed+d, wall+d
			jumps++
		case 1: // somebody sets the wall clock
			wall += time.Duration(rng.Int64N(int64(2*time.Hour))) - time.Hour
			jumps++
		}
		from, early, late := passed, wall, time.Duration(rng.Int64N(int64(50*time.Microsecond)))
		run(late)
		if at := c.at(early, mono); at < from-maxReading || at > passed+maxReading {
			t.Fatalf("seed %d: the clock says %v between %v and %v", seed, at, from, passed)
		}
	}
	if reads > 3*jumps {
		t.Errorf("seed %d: %d system calls after %d jumps", seed, reads, jumps)
	}
}

// TestClockShowsBootTime compares the clock with CLOCK_BOOTTIME.
func TestClockShowsBootTime(t *testing.T) {
	for range 1000 {
		before := readBootTime()
		at := Clock()
		if after := readBootTime(); at < before-maxReading || at > after+maxReading {
			t.Fatalf("the clock says %v, CLOCK_BOOTTIME said %v before and %v after", at, before, after)
		}
	}
}
