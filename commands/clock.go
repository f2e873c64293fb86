package commands

import (
	"sync/atomic"
	"time"

	"limitsrv/engine"
)

const (
	// segment is how long the SystemClock goes at one speed.
	segment = int64(time.Second)
	// maxSlew is how far it moves towards the wall clock in a segment.
	maxSlew = segment / engine.MaxSlew
)

// A SystemClock starts at the wall clock and then follows the monotonic clock,
// so that a wall clock that is stepped neither pays permits out twice nor locks
// anybody out: time goes on at normal speed. It drifts towards the wall clock by
// at most one part in a thousand, so that small errors heal, and never goes back.
//
// Where the monotonic clock stands still while the machine sleeps, as on Linux,
// sleeping is a wall clock stepped forward: that time does not count.
type SystemClock struct {
	wall func() engine.Instant
	mono func() int64 // never goes back
	line atomic.Pointer[line]
}

// A line tells the time from start to end of the monotonic clock: at start it is
// at, and it gains slew until the end.
type line struct {
	start, end int64
	at         engine.Instant
	slew       int64
}

// NewSystemClock makes a clock that starts no earlier than floor, the latest time
// that anybody was told before.
func NewSystemClock(floor engine.Instant) *SystemClock {
	origin := time.Now()
	return newSystemClock(floor,
		func() engine.Instant { return engine.Instant(time.Now().UnixNano()) },
		func() int64 { return int64(time.Since(origin)) })
}

// newSystemClock takes the readings of both clocks; mono never goes back.
func newSystemClock(floor engine.Instant, wall func() engine.Instant, mono func() int64) *SystemClock {
	c := &SystemClock{wall: wall, mono: mono}
	start := mono()
	c.line.Store(&line{start: start, end: start + segment, at: max(wall(), floor, 0)})
	return c
}

// Now is the time. Many may call at once; what one was told before another
// called is not later than what that one is told. It costs one reading of the
// monotonic clock and, once a second, one of the wall clock and a small allocation.
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

// NotBefore has the time be floor or later from now on: where it is earlier it
// moves there, and goes on at normal speed. Many may call at once.
func (c *SystemClock) NotBefore(floor engine.Instant) {
	for {
		l := c.line.Load()
		behind := floor - l.timeAt(c.mono())
		if behind <= 0 {
			return
		}
		higher := *l // of the same speed, so that nobody is told less than before
		higher.at += behind
		if c.line.CompareAndSwap(l, &higher) {
			return
		}
	}
}

// timeAt is the time on the line, and past its end at normal speed.
func (l *line) timeAt(mono int64) engine.Instant {
	since := mono - l.start
	return l.at + engine.Instant(since+l.slew*min(since, segment)/segment)
}

// next is the line that follows at mono.
func (l *line) next(wall engine.Instant, mono int64) *line {
	at := l.timeAt(mono)
	return &line{
		start: mono,
		end:   mono + segment,
		at:    at,
		slew:  min(max(int64(wall-at), -maxSlew), maxSlew),
	}
}

// A TestClock stands still and moves only by Advance. Many may call its methods
// at once.
type TestClock struct{ now atomic.Int64 }

// NewTestClock makes a clock that stands at now.
func NewTestClock(now engine.Instant) *TestClock {
	c := &TestClock{}
	c.now.Store(int64(now))
	return c
}

// Now is the time.
func (c *TestClock) Now() engine.Instant { return engine.Instant(c.now.Load()) }

// lastInstant is where a TestClock ends, at the beginning of the year 2200, so
// that sums of a time and ten years stay far from overflow.
const lastInstant = engine.Instant(7_258_118_400 * int64(time.Second))

var errClockEnds = &Error{"ERR", "the test clock ends with the year 2199"}

// Advance moves the clock forward by d, which is not negative. It returns an
// *Error, and moves nothing, where that is beyond the year 2199.
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
