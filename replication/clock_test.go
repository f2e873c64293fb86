package replication

import (
	"testing"
	"time"

	"limitsrv/engine"
)

func TestLeaderClock(t *testing.T) {
	const start = engine.Instant(1_000_000 * int64(time.Second))
	for _, tt := range []struct {
		name    string
		off     time.Duration // of the target
		agreed  bool
		after   time.Duration // how much later the clock is read
		want    time.Duration // how much it has moved then
		clamped time.Duration
	}{
		{"it goes at normal speed", 0, true, time.Second, time.Second, 0},
		{"a little behind, it makes up slowly", 100 * time.Millisecond, true, time.Second, 1050 * time.Millisecond, 0},
		{"it stops where it has made up", 10 * time.Millisecond, true, time.Second, 1010 * time.Millisecond, 0},
		{"a little ahead, it gives back slowly", -100 * time.Millisecond, true, time.Second, 950 * time.Millisecond, 0},
		{"far ahead, it goes on", -time.Hour, true, time.Second, time.Second, -time.Hour},
		{"far behind, it jumps with a majority", time.Hour, true, 0, time.Hour, 0},
		{"far behind, it jumps a little without one", time.Hour, false, 0, 5 * time.Second, time.Hour - 5*time.Second},
		{"behind by a failover, it jumps", 3 * time.Second, false, 0, 3 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mono := time.Minute
			c := newLeaderClock(func() time.Duration { return mono })
			c.start(start)
			if got := c.steer(start+engine.Instant(tt.off), tt.agreed); got != tt.clamped {
				t.Errorf("steer by %v: clamped %v, want %v", tt.off, got, tt.clamped)
			}
			mono += tt.after
			if got := time.Duration(c.now() - start); got != tt.want {
				t.Errorf("%v after a steer by %v: moved %v, want %v", tt.after, tt.off, got, tt.want)
			}
		})
	}
}

// TestLeaderClockAlone steers again and again without a majority's word, also as a
// leader again: what it jumps in all is bounded until there is one.
func TestLeaderClockAlone(t *testing.T) {
	const start = engine.Instant(time.Hour)
	c := newLeaderClock(func() time.Duration { return time.Minute })
	c.start(start)
	at := func(want time.Duration) {
		t.Helper()
		if got := time.Duration(c.now() - start); got != want {
			t.Errorf("moved %v, want %v", got, want)
		}
	}
	c.steer(start+engine.Instant(3*time.Second), false)
	at(3 * time.Second)
	for range 3 {
		if clamped := c.steer(start+engine.Instant(time.Minute), false); clamped != 55*time.Second {
			t.Errorf("clamped %v, want 55s", clamped)
		}
		at(maxJump)
		c.start(c.now())
	}
	c.steer(start+engine.Instant(time.Minute), true)
	at(time.Minute)
	c.steer(start+engine.Instant(time.Hour), false)
	at(time.Minute + maxJump)
}

func TestLeaderClockNeverGoesBack(t *testing.T) {
	mono := time.Duration(0)
	c := newLeaderClock(func() time.Duration { return mono })
	c.start(1000)
	last := c.now()
	for i := range 1000 {
		mono += time.Duration(i%7) * 100 * time.Millisecond
		c.steer(last+engine.Instant((i%13-6))*engine.Instant(500*time.Millisecond), i%2 == 0)
		if i%50 == 0 {
			c.start(500) // an older stamp
		}
		now := c.now()
		if now < last {
			t.Fatalf("step %d: %d after %d", i, now, last)
		}
		last = now
	}
}

func TestClockOffset(t *testing.T) {
	const hour = time.Hour
	for _, tt := range []struct {
		name string
		in   []time.Duration
		want time.Duration
	}{
		{"a node by itself is right", []time.Duration{0}, 0},
		{"the earlier of two", []time.Duration{0, hour}, 0},
		{"the earlier of two, the other", []time.Duration{0, -hour}, -hour},
		{"one of three is wrong", []time.Duration{0, hour, 1}, 1},
		{"this one of three is wrong", []time.Duration{0, -hour, -hour + 1}, -hour + 1},
	} {
		if got := clockOffset(tt.in); got != tt.want {
			t.Errorf("%s: clockOffset(%v) = %v, want %v", tt.name, tt.in, got, tt.want)
		}
	}
}
