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
		{"behind by a failover, it jumps with a majority", 3 * time.Second, true, 0, 3 * time.Second, 0},
		{"behind by a failover, it goes on without one", 3 * time.Second, false, time.Second, time.Second, 3 * time.Second},
		{"a little behind, it makes up slowly without one", 100 * time.Millisecond, false, time.Second, 1050 * time.Millisecond, 0},
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
