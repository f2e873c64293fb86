package backend

import (
	"sync/atomic"
	"time"

	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// A Clock returns the time of a batch. It never goes back. Any number of goroutines may
// call it.
type Clock interface{ Now() engine.Instant }

const (
	// segment is the time that SystemClock keeps the same speed for.
	segment = int64(time.Second)
	// maxSlew bounds its correction towards the wall clock in a segment.
	maxSlew = segment / engine.MaxSlew
)

// A SystemClock starts at the wall clock and then follows the monotonic clock. A step of
// the wall clock therefore neither grants tokens twice nor locks clients out: time
// continues at normal speed. To correct small errors it slews towards the wall clock by
// at most one part in a thousand. It never goes back.
//
// If the monotonic clock stops while the machine sleeps, as on Linux, a sleep is
// equivalent to a forward step of the wall clock: that time does not count.
type SystemClock struct {
	wall func() engine.Instant
	mono func() int64 // never goes back
	line atomic.Pointer[line]
}

// A line maps monotonic time to clock time from start to end: at at start, gaining slew
// until end.
type line struct {
	start, end int64
	at         engine.Instant
	slew       int64
}

// NewSystemClock makes a clock that starts no earlier than floor, the latest time
// returned in an earlier run.
func NewSystemClock(floor engine.Instant) *SystemClock {
	origin := time.Now()
	return newSystemClock(floor,
		func() engine.Instant { return engine.Instant(time.Now().UnixNano()) },
		func() int64 { return int64(time.Since(origin)) })
}

// newSystemClock takes the readings of both clocks. Requires: mono never goes back.
func newSystemClock(floor engine.Instant, wall func() engine.Instant, mono func() int64) *SystemClock {
	c := &SystemClock{wall: wall, mono: mono}
	start := mono()
	c.line.Store(&line{start: start, end: start + segment, at: max(wall(), floor, 0)})
	return c
}

// Now returns the time.
//
// Concurrency: any number of goroutines may call it; a call that starts after another
// returned gets no earlier time. Cost: a reading of the monotonic clock and, once a second,
// one of the wall clock and a small allocation.
func (c *SystemClock) Now() engine.Instant {
	for {
		l := c.line.Load()
		mono := c.mono()
		if mono < l.end {
			return l.timeAt(mono)
		}
		next := l.next(c.wall(), mono)
		if c.line.CompareAndSwap(l, next) {
			return next.at
		}
	}
}

// NotBefore moves the clock to floor if floor is later, and continues at normal speed. Any
// number of goroutines may call it.
func (c *SystemClock) NotBefore(floor engine.Instant) {
	for {
		l := c.line.Load()
		behind := floor - l.timeAt(c.mono())
		if behind <= 0 {
			return
		}
		higher := *l // same speed, so that no reading goes back
		higher.at += behind
		if c.line.CompareAndSwap(l, &higher) {
			return
		}
	}
}

// timeAt returns the time at mono; past the end the clock runs at normal speed.
func (l *line) timeAt(mono int64) engine.Instant {
	since := mono - l.start
	return l.at + engine.Instant(since+l.slew*min(since, segment)/segment)
}

// next returns the line that follows at mono.
func (l *line) next(wall engine.Instant, mono int64) *line {
	at := l.timeAt(mono)
	return &line{
		start: mono,
		end:   mono + segment,
		at:    at,
		slew:  min(max(int64(wall-at), -maxSlew), maxSlew),
	}
}

// A TestClock moves only by Advance. Any number of goroutines may call its methods.
type TestClock struct{ now atomic.Int64 }

// NewTestClock makes a clock that stands at now.
func NewTestClock(now engine.Instant) *TestClock {
	c := &TestClock{}
	c.now.Store(int64(now))
	return c
}

// Now returns the time.
func (c *TestClock) Now() engine.Instant { return engine.Instant(c.now.Load()) }

// lastInstant is the end of a TestClock, the beginning of the year 2200, so that sums of
// a time and ten years stay far from overflow.
const lastInstant = engine.Instant(7_258_118_400 * int64(time.Second))

var errClockEnds = resp.NewError("ERR", "the test clock ends with the year 2199")

// Advance moves the clock forward by d. Requires: d >= 0. It returns an *resp.Error and moves
// nothing if the result is beyond the year 2199.
func (c *TestClock) Advance(d time.Duration) error {
	for {
		now := c.now.Load()
		if int64(d) > int64(lastInstant)-now {
			return errClockEnds
		}
		if c.now.CompareAndSwap(now, now+int64(d)) {
			return nil
		}
	}
}
