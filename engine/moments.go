package engine

import "sync/atomic"

// moments are the microseconds since the Unix epoch that calls were told. Calls of the same
// batch, or of two at the same time, would otherwise see one time, but scripts take it for
// the name of an event: as a member of a sorted set it counts once.
type moments struct{ last atomic.Int64 }

// MaxMicros bounds Call.Micros. If more than a million such calls per second arrive for more than a
// second, two calls may get the same time or draw the same numbers.
const MaxMicros = 1_000_000

// SetMoments sets the Micros of the calls of a batch that is about to be logged or applied at now.
// No two Timed calls of any batches then get the same microsecond, and no two calls that draw get
// the same seed. At level 1 only Timed calls that may write have Micros. The result is part of the
// log. Look calls SetMoments for its batch. Concurrency: as for Apply. Cost: linear in the calls.
func (e *Engine) SetMoments(now Instant, b *Batch) {
	old := b.Level != 0 && b.Level < momentsLevel
	var timed, draws int64
	for i := range b.Calls {
		switch c := &b.Calls[i]; {
		case !c.Timed && !c.Draws, old && (c.ReadOnly || !c.Timed):
		case c.Timed:
			timed++
		default:
			draws++
		}
	}
	if timed > 0 {
		e.moments.give(now, b, timed, func(c *Call) bool { return c.Timed && !(old && c.ReadOnly) })
	}
	if draws > 0 {
		e.draws.give(now, b, draws, func(c *Call) bool { return c.Draws && !c.Timed })
	}
}

// momentsLevel is the first level of meaning that gives read-only scripts Micros of their own,
// and calls that draw random numbers seeds of their own.
const momentsLevel = 2

// give sets the Micros of the calls that gets accepts, n of them, in a batch that is
// applied at now.
func (m *moments) give(now Instant, b *Batch, n int64, gets func(c *Call) bool) {
	at := int64(now) / 1000
	first := m.take(at, n) - at
	for i := range b.Calls {
		if c := &b.Calls[i]; gets(c) {
			c.Micros = uint32(min(first, MaxMicros))
			first++
		}
	}
}

// take returns the first of n consecutive microseconds that were not told yet, at the
// earliest at.
func (m *moments) take(at, n int64) (first int64) {
	for {
		last := m.last.Load()
		first = max(at, last+1)
		if m.last.CompareAndSwap(last, min(first+n-1, max(last, at+MaxMicros))) {
			return first
		}
	}
}

// SetTold notes the last time that a call was told, from Snapshot.Told: calls are told later
// times from then on. Without it a clock that was set back would tell the same times again
// after a start from a snapshot. Concurrency: as for Apply.
func (e *Engine) SetTold(micros int64) { e.moments.told(micros) }

// told notes that a call was told a time: by this node, another, or the process before.
func (m *moments) told(at int64) {
	for {
		last := m.last.Load()
		if last >= at || m.last.CompareAndSwap(last, at) {
			return
		}
	}
}
