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
	if !e.hasVictims() {
		return dst
	}
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
			s.sweepPage(at, at)
		}
		forgotten += before - s.keys
		s.unlock()
	}
	return forgotten
}

const (
	// roomPages is the number of pages swept at once by MakeRoom, and evictAhead the number of
	// bytes that it evicts beyond the excess, so that not every batch has to evict.
	roomPages  = 16
	evictAhead = 64 << 10
)

// MakeRoom prepares a batch with calls, which look at no bound, for an Apply at now: if they
// could pass the bound of SetBound, it forgets expired keys and evicts live ones, if these are
// to be evicted: again and again, because pages that lose keys may stay as large as they were.
// The batch is Tight if no more can be evicted. It is for an engine without a log, because
// nothing of it is in the batch. Cost: linear in the calls; see Victims.
func (e *Engine) MakeRoom(now Instant, b *Batch) {
	b.Tight = false
	bound := e.memory.max.Load()
	if len(b.Calls) == 0 || bound == 0 {
		return
	}
	needed := b.Needed(bound)
	excess := func() int64 { return e.memory.used.Load() + needed - bound }
	for n := 0; n < sweepTries && excess() > 0 && e.SweepExpired(now, roomPages) > 0; n++ {
	}
	for excess() > 0 && e.memory.evict.Load() {
		forgets := Batch{Ops: e.Victims(now, excess()+evictAhead, nil), Notices: b.Notices}
		if len(forgets.Ops) == 0 {
			break
		}
		e.Apply(now, &forgets)
		e.CountEvicted(int64(len(forgets.Ops)))
	}
	b.Tight = excess() > 0
}

// hasVictims reports whether there are keys that do not last: if there are none, a search of all
// pages for them would hold up each batch. Cost: each shard is locked once.
func (e *Engine) hasVictims() bool {
	keys, lasting := e.KeysIn()
	return keys != lasting
}

const (
	// maxNeeded is the share of a bound that is kept for one batch at most, as a divisor: a
	// larger batch passes the bound by the rest, so that it does not evict all others.
	maxNeeded = 8
	// bytesPerCall is an estimate of the memory of a new key besides its name and value.
	bytesPerCall = 64
)

// Needed returns the bytes below a memory bound that are kept for the calls of a batch: an
// estimate for calls that store their arguments. Scripts, which make values of their own, may
// differ. Cost: linear in the arguments.
func (b *Batch) Needed(bound int64) (n int64) {
	for i := range b.Calls {
		if c := &b.Calls[i]; !c.ReadOnly {
			n += bytesPerCall
			for _, arg := range c.Args {
				n += int64(len(arg))
			}
		}
	}
	return min(n, bound/maxNeeded)
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
