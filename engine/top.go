package engine

import (
	"bytes"
	"cmp"
	"slices"
)

// A TopKind is what is counted of a key. Each Take of at least one permit and each
// Acquire that was decided counts once, however many permits it asks for, and so
// does each limit of a group; what Stats counts, that is. Forget and Flush take no count back.
type TopKind uint8

const (
	// TopDenied counts refusals, those included that were answered as allowed under
	// Shadow. In a group the limits count that would not pass by themselves.
	TopDenied TopKind = iota
	// TopHot counts decisions.
	TopHot
	topKinds
)

// A TopWindow is how far back is counted.
type TopWindow uint8

const (
	// TopMinute is from the last full ten seconds of the epoch that are a minute
	// ago: 60 to 70 seconds.
	TopMinute TopWindow = iota
	// TopHour is from the last full five minutes of the epoch that are an hour ago:
	// 60 to 65 minutes.
	TopHour
)

// A TopResult tells which keys were counted most. The rows are sorted by Count,
// highest first, then by Key.
type TopResult struct {
	Rows []TopRow
	// From and To are the span that is covered: from From on, until To or a little
	// later where others apply something meanwhile.
	From, To Instant
	// Total is of all keys.
	Total int64
	// Others is what no key that is not among the rows was counted more often than.
	Others int64
}

// A TopRow is a key whose count in the span is at most Count and at least Count - Error.
type TopRow struct {
	Key   []byte
	Count int64
	Error int64
}

// Top tells the count keys that were counted most until now, or until the latest
// time that any shard has seen. What it knows is of decisions of this Engine since
// it was made, also of those of a Replay; it is in no Snapshot and decides nothing.
//
// Memory is bounded, so counts are estimates whose errors are known. With the usual
// 16 shards, and n decisions, or refusals, on the keys of a shard in the span, any
// key of it that was counted more than n/65 times is known, so that it is told where
// count leaves room, and no Error is above n/65. That holds for keys of up to 64 bytes
// on the average, whatever they are and in any order; longer ones have less room, so
// that it is n/5 if all have 1024 bytes. What was found is in Error and Others, and is
// mostly far better. A count is at least 1.
//
// Memory, besides MemoryBytes: with 16 shards 3.9 MB for keys of 22 bytes, and at
// most 5.5 MB, however many keys there are. Cost: about half a millisecond; each shard is
// entered twice, for some 20 microseconds.
func (e *Engine) Top(now Instant, kind TopKind, window TopWindow, count int) TopResult {
	now = min(max(now, e.Now()), latest)
	interval, intervals := Instant(intervalNanos), int64(minuteIntervals)
	if window == TopHour {
		interval, intervals = blockIntervals*intervalNanos, hourBlocks
	}
	first := max(int64(now/interval)-intervals, 0)
	result := TopResult{From: Instant(first) * interval, To: now}
	var all, sum topList
	for i := range e.shards {
		all.reset()
		s := &e.shards[i]
		s.mu.Lock()
		s.tops[kind].each(window, first, &s.topScratch, func(l *topList) {
			sum.merge(&all, l)
			all, sum = sum, all
		})
		s.mu.Unlock()
		result.add(&all, count)
	}
	return result
}

// add merges in what a shard has.
func (t *TopResult) add(l *topList, count int) {
	least := int64(0)
	if len(t.Rows) == count {
		least = t.Rows[count-1].Count
	}
	for i := range l.rows {
		r := &l.rows[i]
		if r.count < least {
			t.Others = max(t.Others, r.count)
			continue
		}
		t.Rows = append(t.Rows, TopRow{bytes.Clone(l.key(r)), r.count, r.error})
	}
	slices.SortFunc(t.Rows, func(a, b TopRow) int { return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Key, b.Key)) })
	t.Total += l.total
	t.Others = max(t.Others, l.minCount)
	if len(t.Rows) > count {
		t.Others = max(t.Others, t.Rows[count].Count)
		t.Rows = t.Rows[:count]
	}
}
