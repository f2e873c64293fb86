package backend

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"limitsrv/engine"
	"limitsrv/internal/testing/testwait"
)

// fakeClocks are the readings of a pair of clocks that a test sets.
type fakeClocks struct {
	wall engine.Instant
	mono int64
}

func (h *fakeClocks) readWall() engine.Instant { return h.wall }
func (h *fakeClocks) readMono() int64          { return h.mono }

// pass advances both clocks by d, and the wall clock by step in addition.
func (h *fakeClocks) pass(d, step time.Duration) {
	h.mono += int64(d)
	h.wall += engine.Instant(d + step)
}

func TestSystemClock(t *testing.T) {
	const hour = time.Hour
	h := &fakeClocks{wall: 1e18, mono: 7}
	c := newSystemClock(0, h.readWall, h.readMono)
	if got := c.Now(); got != 1e18 {
		t.Fatalf("Now() = %d at the start, want the wall clock's 1e18", got)
	}
	last := c.Now()
	for _, tt := range []struct {
		name    string
		pass    time.Duration // on the monotonic clock
		step    time.Duration // additional, of the wall clock
		want    time.Duration // gained
		settled time.Duration // wall clock minus ours, afterwards
	}{
		{"goes at normal speed", 10 * time.Second, 0, 10 * time.Second, 0},
		{"is not stepped back", time.Second, -hour, time.Second, -hour},
		{"slows down by a thousandth", time.Second, 0, 999 * time.Millisecond, -hour + time.Millisecond},
		{"continues", time.Second, 0, 999 * time.Millisecond, -hour + 2*time.Millisecond},
		{"is not stepped forward if the wall clock returns", time.Second, hour, 999 * time.Millisecond, 3 * time.Millisecond},
		{"catches up by a thousandth", time.Second, 0, 1001 * time.Millisecond, 2 * time.Millisecond},
		{"catches up half way in half a second", 500 * time.Millisecond, 0, 500*time.Millisecond + 500*time.Microsecond,
			1500 * time.Microsecond},
		{"finishes that", 500 * time.Millisecond, 0, 500*time.Millisecond + 500*time.Microsecond, time.Millisecond},
		{"catches up the rest", time.Second, 0, 1001 * time.Millisecond, 0},
		{"is right", time.Second, 0, time.Second, 0},
		{"is not stepped forward by a mistake", time.Second, hour, time.Second, hour},
		{"nor when it is corrected", time.Second, -hour, 1001 * time.Millisecond, -time.Millisecond},
		{"heals", time.Second, 0, 999 * time.Millisecond, 0},
		{"does not count sleep, in which only the wall clock goes", 0, 8 * hour, 0, 8 * hour},
		{"continues at normal speed after sleep", time.Second, 0, time.Second, 8 * hour},
		{"gains only a thousandth of a second over a long pause", 24 * hour, 0, 24*hour + time.Millisecond,
			8*hour - time.Millisecond},
	} {
		h.pass(tt.pass, tt.step)
		now := c.Now()
		if got := time.Duration(now - last); got != tt.want {
			t.Errorf("%s: gained %v, want %v", tt.name, got, tt.want)
		}
		if got := time.Duration(h.wall - now); got != tt.settled {
			t.Errorf("%s: the wall clock is ahead by %v, want %v", tt.name, got, tt.settled)
		}
		last = now
	}
}

func TestSystemClockFloor(t *testing.T) {
	for _, tt := range []struct {
		name              string
		wall, floor, want engine.Instant
	}{
		{"starts at the wall clock", 5e18, 4e18, 5e18},
		{"starts at the floor if the wall clock is behind", 4e18, 5e18, 5e18},
		{"starts at 0 if the wall clock is before 1970", -1, 0, 0},
	} {
		h := &fakeClocks{wall: tt.wall}
		if got := newSystemClock(tt.floor, h.readWall, h.readMono).Now(); got != tt.want {
			t.Errorf("%s: Now() = %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestSystemClockNotBefore(t *testing.T) {
	h := &fakeClocks{wall: 1e18}
	c := newSystemClock(0, h.readWall, h.readMono)
	last := c.Now()
	for _, tt := range []struct {
		name  string
		floor time.Duration // relative to our clock
		pass  time.Duration
		want  time.Duration // gained
		ahead time.Duration // of the wall clock, after it
	}{
		{"stays if it is later", -time.Hour, 0, 0, 0},
		{"stays if it is equal", 0, 0, 0, 0},
		{"moves to the floor", time.Hour, 0, time.Hour, time.Hour},
		{"continues at normal speed", -1, 500 * time.Millisecond, 500 * time.Millisecond, time.Hour},
		{"moves in the middle of a second", 3 * time.Millisecond, 0, 3 * time.Millisecond, time.Hour + 3*time.Millisecond},
		{"continues to the end of the second", 0, 500 * time.Millisecond, 500 * time.Millisecond,
			time.Hour + 3*time.Millisecond},
		{"then slews by a thousandth", 0, time.Second, 999 * time.Millisecond, time.Hour + 2*time.Millisecond},
		{"moves while it slews", time.Millisecond, 500 * time.Millisecond, 500*time.Millisecond + 500*time.Microsecond,
			time.Hour + 2500*time.Microsecond},
		{"moves after a long pause", 0, 10 * time.Second, 10*time.Second - 500*time.Microsecond,
			time.Hour + 2*time.Millisecond},
	} {
		c.NotBefore(last + engine.Instant(tt.floor))
		h.pass(tt.pass, 0)
		now := c.Now()
		if got := time.Duration(now - last); got != tt.want {
			t.Errorf("%s: gained %v, want %v", tt.name, got, tt.want)
		}
		if got := time.Duration(now - h.wall); got != tt.ahead {
			t.Errorf("%s: ahead of the wall clock by %v, want %v", tt.name, got, tt.ahead)
		}
		last = now
	}
}

// TestSystemClockSpeed steps the wall clock at random: time never goes back, and its
// speed is never off by more than a thousandth.
func TestSystemClockSpeed(t *testing.T) {
	seed := testwait.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	h := &fakeClocks{wall: 1e18}
	c := newSystemClock(0, h.readWall, h.readMono)
	last := c.Now()
	for i := range 100_000 {
		d := time.Duration(r.Int64N(int64(3 * time.Second)))
		step := time.Duration(0)
		if r.IntN(10) == 0 {
			step = time.Duration(r.Int64N(int64(2*time.Hour))) - time.Hour
		}
		h.pass(d, step)
		now := c.Now()
		gained, slack := time.Duration(now-last), d/1000+1
		if gained < d-slack || gained > d+slack || gained < 0 {
			t.Fatalf("seed %d, step %d: gained %v in %v", seed, i, gained, d)
		}
		last = now
	}
}

func TestSystemClockConcurrent(t *testing.T) {
	var (
		mu sync.Mutex
		h  = &fakeClocks{wall: 1e18}
	)
	c := newSystemClock(0, func() engine.Instant {
		mu.Lock()
		defer mu.Unlock()
		return h.wall
	}, func() int64 {
		mu.Lock()
		defer mu.Unlock()
		h.pass(50*time.Millisecond, time.Duration(h.mono%7-3)*time.Second)
		return h.mono
	})
	var (
		group  sync.WaitGroup
		latest struct {
			sync.Mutex
			at engine.Instant
		}
	)
	for range 8 {
		group.Go(func() {
			for i := range 5000 {
				latest.Lock()
				before := latest.at
				latest.Unlock()
				if i%16 == 0 {
					before++
					c.NotBefore(before)
				}
				now := c.Now()
				latest.Lock()
				latest.at = max(latest.at, now)
				latest.Unlock()
				if now < before {
					t.Errorf("Now() = %d after %d was returned", now, before)
					return
				}
			}
		})
	}
	group.Wait()
}

// TestSystemClockRace lets another caller advance the line between two readings of one
// caller.
func TestSystemClockRace(t *testing.T) {
	h := &fakeClocks{wall: 1e18}
	between := func() {}
	c := newSystemClock(0, h.readWall, func() int64 {
		between()
		return h.mono
	})
	var told engine.Instant
	between = func() {
		between = func() {}
		h.pass(time.Second, time.Hour) // from here the clock catches up
		c.Now()
		h.pass(999*time.Millisecond, 0)
		told = c.Now()
	}
	if got := c.Now(); got < told {
		t.Errorf("Now() = %d after %d was returned", got, told)
	}
	if got := c.Now(); got < told {
		t.Errorf("then Now() = %d after %d was returned", got, told)
	}
}

func TestSystemClockIsTheWallClock(t *testing.T) {
	c := NewSystemClock(0)
	before := time.Now().UnixNano()
	got := int64(c.Now())
	if off := time.Duration(got - before); off < -time.Second || off > time.Second {
		t.Errorf("Now() is %v off the wall clock", off)
	}
	if next := int64(c.Now()); next < got {
		t.Errorf("Now() = %d after %d", next, got)
	}
}

func TestTestClock(t *testing.T) {
	c := NewTestClock(1e18)
	if err := c.Advance(1500 * time.Millisecond); err != nil || c.Now() != 1e18+15e8 {
		t.Errorf("Advance(1.5s) = %v, Now() = %d", err, c.Now())
	}
	decade := time.Duration(engine.MaxPeriod)
	for range 100 {
		if c.Advance(decade) != nil {
			break
		}
	}
	if err := c.Advance(decade); err == nil || c.Now() > lastInstant || c.Now() < lastInstant-engine.Instant(decade) {
		t.Errorf("Advance beyond the end = %v, Now() = %d, want an error and at most %d", err, c.Now(), lastInstant)
	}
}
