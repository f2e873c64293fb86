package replication

import (
	"math"
	"testing"
	"time"

	"limitsrv/engine"
)

func TestLeaderClock(t *testing.T) {
	const start = engine.Instant(1_000_000 * int64(time.Second))
	for _, tt := range []struct {
		name  string
		off   time.Duration // of the target
		after time.Duration // delay before the clock is read
		want  time.Duration // distance moved since
	}{
		{"it goes at normal speed", 0, time.Second, time.Second},
		{"behind, it gains a thousandth", 100 * time.Millisecond, time.Second, 1001 * time.Millisecond},
		{"it stops where it has made up", 10 * time.Millisecond, 100 * time.Second, 100*time.Second + 10*time.Millisecond},
		{"ahead, it loses a thousandth", -100 * time.Millisecond, time.Second, 999 * time.Millisecond},
		{"far ahead, it loses no more", -time.Hour, time.Second, 999 * time.Millisecond},
		{"far behind, it gains no more", time.Hour, time.Second, 1001 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mono := time.Minute
			c := newLeaderClock(func() time.Duration { return mono })
			c.start(start)
			if got := c.follow(start + engine.Instant(tt.off)); got != tt.off {
				t.Errorf("steer by %v: %v off", tt.off, got)
			}
			mono += tt.after
			if got := time.Duration(c.now() - start); got != tt.want {
				t.Errorf("%v after a steer by %v: moved %v, want %v", tt.after, tt.off, got, tt.want)
			}
		})
	}
}

// A clock that gains runs free, and steps to targets before and after it.
func TestLeaderClockSteps(t *testing.T) {
	mono := time.Minute
	c := newLeaderClock(func() time.Duration { return mono })
	c.start(1000)
	c.follow(1000 + engine.Instant(time.Hour))
	mono += time.Second
	c.freeRun()
	mono += time.Second
	at := engine.Instant(1000 + 2001*time.Millisecond)
	for _, step := range []struct{ to, by time.Duration }{{-time.Hour, 0}, {0, 0}, {3 * time.Second, 3 * time.Second}} {
		if by := c.step(at + engine.Instant(step.to)); by != step.by {
			t.Errorf("step to %v away: by %v, want %v", step.to, by, step.by)
		}
		at += engine.Instant(step.by)
		if now := c.now(); now != at {
			t.Errorf("step to %v away: at %v, want %v", step.to, now, at)
		}
	}
}

// A step to a target beyond the range of differences moves nothing.
func TestLeaderClockStepsFromFarBack(t *testing.T) {
	c := newLeaderClock(func() time.Duration { return 0 })
	c.start(engine.Instant(time.Now().UnixNano()))
	was := c.now()
	if by := c.step(math.MinInt64); by != 0 || c.now() != was {
		t.Errorf("step by %v, at %d, want 0 and %d", by, c.now(), was)
	}
}

func TestLeaderClockNeverGoesBack(t *testing.T) {
	mono := time.Duration(0)
	c := newLeaderClock(func() time.Duration { return mono })
	c.start(1000)
	last := c.now()
	for i := range 1000 {
		mono += time.Duration(i%7) * 100 * time.Millisecond
		target := last + engine.Instant((i%13-6))*engine.Instant(500*time.Millisecond)
		if i%3 == 0 {
			c.step(target)
		}
		c.follow(target)
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
		name   string
		in     []time.Duration
		voters int
		want   time.Duration
	}{
		{"a node by itself is right", []time.Duration{0}, 1, 0},
		{"the earlier of two", []time.Duration{0, hour}, 2, 0},
		{"the earlier of two, the other", []time.Duration{0, -hour}, 2, -hour},
		{"one of three is wrong", []time.Duration{0, hour, 1}, 3, 1},
		{"this one of three is wrong", []time.Duration{0, -hour, -hour + 1}, 3, -hour + 1},
		{"one of three is wrong and one is silent", []time.Duration{0, hour}, 3, 0},
		{"the second of four", []time.Duration{0, 3, 1, 2}, 4, 1},
		{"two of five are wrong", []time.Duration{0, hour, hour, 1, 2}, 5, 2},
		{"two of five are wrong and two are silent", []time.Duration{0, hour, hour}, 5, 0},
		{"two of five are wrong and one is silent", []time.Duration{0, hour, hour, 1}, 5, 1},
	} {
		if got := clockOffset(tt.in, tt.voters); got != tt.want {
			t.Errorf("%s: clockOffset(%v, %d) = %v, want %v", tt.name, tt.in, tt.voters, got, tt.want)
		}
	}
}
