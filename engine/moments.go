package engine

import "sync/atomic"

// moments are the microseconds since the Unix epoch that calls were told. Calls of one
// batch, or of two at the same time, would otherwise see one time, but scripts take it for
// the name of an event: as a member of a sorted set it counts once.
type moments struct{ last atomic.Int64 }

// MaxMicros bounds Call.Micros: with more than a million such calls a second for a second,
// two may be told the same time.
const MaxMicros = 1_000_000

// SetMoments sets the Micros of the Timed calls of a batch that is about to be logged or
// applied at now, so that no two calls are told the same microsecond, in any batch. The
// result is part of the log. Concurrency: as for Apply. Cost: a look at each call.
func (e *Engine) SetMoments(now Instant, b *Batch) {
	timed := int64(0)
	for i := range b.Calls {
		if b.Calls[i].Timed {
			timed++
		}
	}
	if timed == 0 {
		return
	}
	at := int64(now) / 1000
	first := e.moments.take(at, timed) - at
	for i := range b.Calls {
		if c := &b.Calls[i]; c.Timed {
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
// ones from then on. Without it a clock that was set back would tell the same times again
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
