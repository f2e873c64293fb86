package engine

import (
	"math"
	"slices"
)

// A Bound bounds MemoryBytes between batches: it decides about the memory of a batch, or of a group
// of batches, before any of their ops is applied. So an op evicts nothing, and the log has each
// eviction as an op of its own.
//
// The ops of the batches between two Rooms may exceed the bound. Because a Full batch creates no
// key, only the tails of existing LOG and LEASE keys can grow on: Backstop bounds them.
type Bound struct {
	MaxBytes int64 // 0: no bound
	Evict    bool  // whether keys are evicted at the bound; otherwise new keys are refused
}

// A Room is the effect of a [Bound] on the next batches.
type Room struct {
	Full    bool // the batches must be Full and Tight
	Victims []Op // evictions to apply before the batches
	Bytes   int  // length of a log entry, without Victims, at which the next entry starts
}

const (
	// evictAhead is the number of bytes evicted beyond the excess, so that not every batch has to
	// evict.
	evictAhead = 64 << 10
	// maxEvicted bounds the bytes that are evicted at once, in case the bound was lowered.
	maxEvicted = 4 << 20
	// roomPages is the number of pages swept before memory is measured again, at most roomSweeps
	// times.
	roomPages  = 16
	roomSweeps = 16
	// keyGrowth is an upper bound of the memory of a new key for each byte of its entry.
	keyGrowth = 8
	// minRoom is the minimum of Bytes.
	minRoom = 64 << 10
)

// Backstop returns the bound of an op for SetBackstop on a single node; 0: no bound. A member of a
// cluster must not have a backstop, because the memory of a tail differs between nodes with equal
// states. The log contains ops that were refused at the backstop, so that a replay decides no less
// strictly.
func (b Bound) Backstop() int64 {
	if b.MaxBytes == 0 {
		return 0
	}
	return b.MaxBytes + b.MaxBytes/8 + maxEvicted
}

// Exceeded reports whether the engine would pass the bound with the memory that a batch needs.
// Cost: linear in the arguments of its calls if there is a bound.
func (b Bound) Exceeded(e *Engine, batch *Batch) bool {
	return b.MaxBytes > 0 && e.MemoryBytes()+batch.needed(b.MaxBytes) > b.MaxBytes
}

// Room returns the Room of batches with the given stamp and first batch. At the bound it first
// forgets keys that have expired at swept, which must not be after the time of any later Apply.
//
// Cost: linear in the arguments of the first batch if there is a bound; at the bound some
// microseconds for each page of expired or evicted keys.
func (b Bound) Room(e *Engine, swept, stamp Instant, first *Batch) Room {
	if b.MaxBytes == 0 {
		return Room{Bytes: math.MaxInt}
	}
	most := b.MaxBytes - first.needed(b.MaxBytes)
	for n := 0; n < roomSweeps && e.MemoryBytes() > most && e.SweepExpired(swept, roomPages) > 0; n++ {
	}
	excess := e.MemoryBytes() - most
	switch {
	case excess <= 0:
		return Room{Bytes: int(max(minRoom, -excess/keyGrowth))}
	case b.Evict:
		if victims := e.Victims(stamp, min(excess+evictAhead, maxEvicted)); len(victims) > 0 || e.Len() == 0 {
			return Room{Victims: victims, Bytes: minRoom}
		}
	}
	return Room{Full: true, Bytes: math.MaxInt}
}

// SetBound sets the bound of MakeRoom, for an engine without a log. Without evict, ops reject new
// keys at the bound itself: no key is lost then, and the log of other engines is the only reason
// for a backstop above the bound. See SetBackstop.
func (e *Engine) SetBound(b Bound) {
	e.bound.Store(&b)
	if b.Evict {
		e.SetBackstop(b.Backstop())
	} else {
		e.SetBackstop(b.MaxBytes)
	}
}

// SetBackstop bounds MemoryBytes for ops from now on; 0 means no bound. If a new key or tail does
// not fit, the shard first forgets expired keys, a few pages at a time, and skips that search before
// the first expiry. Then it rejects the op with NoMemory. Existing keys stay. Calls have no
// backstop.
func (e *Engine) SetBackstop(bytes int64) { e.memory.most.Store(bytes) }

// MakeRoom prepares a batch for an Apply at now by the bound of SetBound: it forgets expired keys,
// evicts live keys, and sets Full and Tight. It repeats that, because pages that lose keys may stay
// as large as they were. It is for an engine without a log. Cost: as for Bound.Room; a load and a
// comparison below the bound.
func (e *Engine) MakeRoom(now Instant, b *Batch) {
	b.Full, b.Tight = false, false
	for bound := *e.bound.Load(); bound.Exceeded(e, b) && !b.Looks(); {
		room := bound.Room(e, now, now, b)
		b.Full, b.Tight = room.Full, room.Full
		if len(room.Victims) == 0 {
			return
		}
		e.Apply(now, &Batch{Ops: room.Victims, Notices: b.Notices})
	}
}

// victimShare is the part of a page's keys that Victims returns: enough that the page
// gets a smaller buffer when they are dropped.
const victimShare = 3

// A victim is a candidate for eviction. Its key is the bytes from..to-1 of the keys of a page.
type victim struct {
	db       uint8
	from, to int
	bytes    int64
	reset    Span
}

// Victims returns evictions of copies of live keys; applying them frees about so many bytes. Of
// the keys with a reset of each page, which has about 60 keys, it selects the third nearest to it,
// page after page from where the last call stopped. It visits each page at most once, so that there
// may be too few: the caller must call again after applying them. It changes nothing.
//
// Cost: a few microseconds a page, one shard locked at a time.
func (e *Engine) Victims(now Instant, bytes int64) (evictions []Op) {
	if !e.hasVictims() {
		return nil
	}
	var (
		live []victim
		keys []byte // of live
	)
	start := e.victimCursor.Load()
	for hash, around := start, false; bytes > 0 && !(around && hash >= start); {
		live, keys = live[:0], keys[:0]
		hash = e.livePage(now, hash, func(s *shard, at Instant, pl place) {
			if reset := s.cell.meter().until(&s.cell, at, 0); reset != Never {
				from := len(keys)
				keys = append(keys, s.keyAt(pl)...)
				live = append(live, victim{s.dbAt(pl), from, len(keys), s.keyBytes(pl), reset})
			}
		})
		slices.SortFunc(live, func(a, b victim) int { return a.reset.compare(b.reset) })
		kept := make([]byte, 0, len(keys)/victimShare)
		for _, v := range live[:(len(live)+victimShare-1)/victimShare] {
			if bytes > 0 {
				from := len(kept)
				kept = append(kept, keys[v.from:v.to]...)
				evictions = append(evictions, Evict(v.db, kept[from:len(kept):len(kept)]))
				bytes -= v.bytes
			}
		}
		around = around || hash == 0
		e.victimCursor.Store(hash)
	}
	return evictions
}

// SweepExpired is Sweep, but skips pages without expired keys.
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

// hasVictims reports whether there are keys that do not last: without them, a search of all
// pages would hold up each batch. Cost: each shard is locked once.
func (e *Engine) hasVictims() bool {
	keys, lasting := e.KeysIn()
	return keys != lasting
}

const (
	// maxNeeded is the largest share of a bound that is kept for a batch, as a divisor. A
	// larger batch passes the bound by the rest, so that it does not evict all other keys.
	maxNeeded = 8
	// bytesPerCall is an estimate of the memory of a new key besides its name and value.
	bytesPerCall = 64
)

// needed returns the bytes below a memory bound that are kept for the calls of a batch: an
// estimate for calls that store their arguments. Scripts, which make values of their own, may
// differ. Cost: linear in the arguments.
func (b *Batch) needed(bound int64) (n int64) {
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
