package engine

import (
	"bytes"
	"cmp"
	"slices"
)

// A TopKind is a kind of count of a key. Each decided Take of at least one permit and
// each decided Acquire counts once, for any number of permits, and so does each limit of
// a group: the same ops as in Stats. Forget and Flush do not reduce counts.
type TopKind uint8

const (
	// TopDenied counts denials, including those answered as allowed under Shadow. In a
	// group it counts the limits that would not pass by themselves.
	TopDenied TopKind = iota
	// TopHot counts decisions.
	TopHot
	topKinds
)

// A TopWindow is a span of time that ends now.
type TopWindow uint8

const (
	// TopMinute starts at the last multiple of ten seconds since the epoch that is at
	// least a minute ago: 60 to 70 seconds.
	TopMinute TopWindow = iota
	// TopHour starts at the last multiple of five minutes since the epoch that is at
	// least an hour ago: 60 to 65 minutes.
	TopHour
)

// A TopResult lists the keys with the highest counts. The rows are sorted by Count,
// highest first, then by Key.
type TopResult struct {
	Rows []TopRow
	// From and To are the span covered: it starts at From and ends at To, or a little
	// later if ops are applied concurrently.
	From, To Instant
	// Total is the sum of the counts of all keys.
	Total int64
	// Others is an upper bound on the count of every key not in Rows.
	Others int64
}

// A TopRow is a key with a count in the span of at most Count and at least Count - Error.
type TopRow struct {
	Key   []byte
	Count int64
	Error int64
}

// Top returns the count keys with the highest counts until now, or until the latest time
// that any shard has seen. It covers decisions of this Engine since New, including those
// of a Replay; counts are in no Snapshot and affect no decision.
//
// Memory is bounded, so counts are estimates with known errors. With the default 16
// shards, and n decisions (or denials) on the keys of a shard in the span, every key of
// the shard with a count above n/65 is tracked, and is listed if count permits; no Error
// is above n/65. That holds for keys of up to 64 bytes on average, in any order; fewer
// longer keys fit, so that the bound is n/5 if all have 1024 bytes. Error and Others
// report the actual errors, which are mostly far lower. A count is at least 1.
//
// Memory, in addition to MemoryBytes: with 16 shards 3.9 MB for keys of 22 bytes, and at
// most 5.5 MB for any number of keys. Cost: about half a millisecond; each shard is
// locked twice, for some 20 microseconds.
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

// add merges the counts of a shard, keeping at most count rows.
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
