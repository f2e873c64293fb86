package engine

import "limitsrv/engine/topk"

// A TopResult lists the keys with the highest counts in a span of time: it starts at From
// and ends at To, or a little later if ops are applied concurrently.
type TopResult struct {
	topk.Result
	From, To Instant
}

// Top returns the count keys with the highest counts until now, or until the latest time that any shard has
// seen. The Tag of a row is the database of the key. It covers decisions of this Engine since New, including
// decisions of a [Replay]; counts are in no [Snapshot] and affect no decision.
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
func (e *Engine) Top(now Instant, kind TopKind, window topk.Window, count int) TopResult {
	now = min(max(now, e.Now()), latest)
	q, from := topk.NewQuery(window, int64(now), count)
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		q.Read(&s.tops[kind], &s.topScratch)
		s.mu.Unlock()
		q.Merge()
	}
	return TopResult{q.Result(), Instant(from), now}
}
