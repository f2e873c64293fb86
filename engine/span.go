package engine

import (
	"cmp"
	"math"
)

// An Instant is a point in time: nanoseconds since the Unix epoch, never negative.
type Instant int64

// latest is the greatest time of an engine: a shard's time stops there. It is twenty years before
// the end of Instant, so that no sum overflows.
const latest = Instant(1<<63-1) - 2*MaxPeriod

// MaxSlew bounds the slew of a clock that provides Instants: it gains or loses at most
// one part in MaxSlew of the elapsed time.
const MaxSlew = 1000

// A Span is a length of time in whole milliseconds and the remaining nanoseconds, rounded
// up to a nanosecond. Spans beyond 292 million years are cut to that length.
type Span struct {
	Millis int64
	Nanos  int64 // 0 to 999_999
}

// Never is the wait of a request that can never pass.
var Never = Span{Millis: -1}

// CeilMillis returns the span in milliseconds, rounded up; -1 for Never.
func (s Span) CeilMillis() int64 {
	if s.Nanos > 0 && s.Millis < math.MaxInt64 {
		return s.Millis + 1
	}
	return s.Millis
}

// after returns t + s, at most latest.
func (t Instant) after(s Span) Instant {
	if s == Never || s.Millis >= int64(latest-t)/1e6 {
		return latest
	}
	return t + Instant(s.Millis*1e6+s.Nanos)
}

func (s Span) less(t Span) bool {
	return s.Millis < t.Millis || s.Millis == t.Millis && s.Nanos < t.Nanos
}

func (a Span) compare(b Span) int {
	return cmp.Or(cmp.Compare(a.Millis, b.Millis), cmp.Compare(a.Nanos, b.Nanos))
}

// nanos returns a span that is not Never in nanoseconds, at most the length of an int64.
func (s Span) nanos() int64 {
	const most = 1<<63 - 1
	if s.Millis > (most-s.Nanos)/1e6 {
		return most
	}
	return s.Millis*1e6 + s.Nanos
}
