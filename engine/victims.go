package engine

import "slices"

// victimShare is the part of a page's keys that Victims returns: enough that the page
// gets a smaller buffer when they are dropped.
const victimShare = 3

// A victim is a candidate for eviction.
type victim struct {
	db    uint8
	key   []byte
	bytes int64
	reset Span
}

// Victims appends to dst Forgets of copies of live keys; applying them frees about so many
// bytes. Of the keys with a reset of each page, which has about 60 keys, it selects the
// third nearest to it, page after page from where the last call stopped. It visits each
// page at most once, so that there may be too few: the caller must call again after
// applying them. It changes nothing.
//
// Cost: a few microseconds a page, one shard locked at a time.
func (e *Engine) Victims(now Instant, bytes int64, dst []Op) []Op {
	var live []victim
	start := e.victimCursor.Load()
	for hash, around := start, false; bytes > 0 && !(around && hash >= start); {
		live = live[:0]
		hash = e.livePage(now, hash, func(s *shard, at Instant, pl place) {
			if reset := s.cell.meter().until(&s.cell, at, 0); reset != Never {
				live = append(live, victim{s.dbAt(pl), slices.Clone(s.keyAt(pl)), s.keyBytes(pl), reset})
			}
		})
		slices.SortFunc(live, func(a, b victim) int { return a.reset.compare(b.reset) })
		for _, v := range live[:(len(live)+victimShare-1)/victimShare] {
			if bytes > 0 {
				dst = append(dst, Op{Kind: Forget, DB: v.db, Key: v.key})
				bytes -= v.bytes
			}
		}
		around = around || hash == 0
		e.victimCursor.Store(hash)
	}
	return dst
}

// SweepExpired is Sweep, but skips pages of which no key has expired.
func (e *Engine) SweepExpired(now Instant, pages int) (forgotten int64) {
	for range pages {
		s := &e.shards[int(e.sweepShard.Add(1))%len(e.shards)]
		at := s.lock(now)
		before := s.keys
		if s.seekExpired(at) {
			s.sweepPage(at)
		}
		forgotten += before - s.keys
		s.unlock()
	}
	return forgotten
}

const (
	// roomPages is the number of pages swept at once by MakeRoom, and evictAhead the number
	// of bytes that it evicts beyond the excess, so that not every batch has to evict.
	roomPages  = 16
	evictAhead = 64 << 10
)

// MakeRoom prepares a batch with calls, which look at no bound, for an Apply at now: if the
// bound of SetBound is passed, it forgets expired keys and evicts live ones, if these are to
// be evicted. The batch is Tight if that is not enough. It is for an engine without a log,
// because nothing of it is in the batch. Cost: a load below the bound; see Victims.
func (e *Engine) MakeRoom(now Instant, b *Batch) {
	b.Tight = false
	if len(b.Calls) == 0 || e.excess() <= 0 {
		return
	}
	for n := 0; n < sweepTries && e.excess() > 0 && e.SweepExpired(now, roomPages) > 0; n++ {
	}
	if excess := e.excess(); excess > 0 && e.memory.evict.Load() {
		forgets := Batch{Ops: e.Victims(now, excess+evictAhead, nil)}
		e.Apply(now, &forgets)
		e.CountEvicted(int64(len(forgets.Ops)))
	}
	b.Tight = e.excess() > 0
}

// excess returns the bytes in use beyond the bound, 0 or less if there is no bound.
func (e *Engine) excess() int64 {
	bound := e.memory.max.Load()
	if bound == 0 {
		return 0
	}
	return e.memory.used.Load() - bound
}

// CountEvicted adds n keys, which a caller has chosen from Victims and forgotten, to
// Stats.Evicted.
func (e *Engine) CountEvicted(n int64) {
	if n == 0 {
		return
	}
	s := &e.shards[0]
	s.mu.Lock()
	s.stats.Evicted += n
	s.mu.Unlock()
}
