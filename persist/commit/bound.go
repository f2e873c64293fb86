package commit

import (
	"math"

	"limitsrv/engine"
)

// A Bound is the memory bound of an engine with a log. Because it acts between groups, the
// engine exceeds it by the keys of the groups that are not applied yet; and because Full
// refuses only new keys, by the entries that are added to existing LOG and LEASE keys, see
// Backstop.
type Bound struct {
	MaxBytes int64 // 0: no bound
	Evict    bool  // whether keys are evicted at the bound; otherwise new keys are refused
}

// A Room is the effect of a Bound on the next group.
type Room struct {
	Full    bool        // the group may add no key
	Victims []engine.Op // Forgets to apply before the group
	Bytes   int         // length of the entry, without Victims, at which the next is begun
}

const (
	// evictAhead is the number of bytes evicted beyond the excess, so that not every group
	// has to evict.
	evictAhead = 64 << 10
	// maxEvicted bounds the bytes that are evicted for one group, in case the bound was
	// lowered.
	maxEvicted = 4 << 20
	// sweepPages is the number of pages swept before memory is measured again, at most
	// maxSweeps times a group.
	sweepPages = 16
	maxSweeps  = 16
	// keyGrowth is an upper bound of the memory of a new key for each byte of its entry.
	keyGrowth = 8
	// minRoom is the minimum of Bytes.
	minRoom = 64 << 10
)

// Backstop returns a bound for Engine.SetBound on a single node, 0 for none. Only existing
// LOG and LEASE keys can reach it. An op that is refused there is in the log under always,
// so that a replay decides no less strictly. A member of a cluster must not have it.
func (b Bound) Backstop() int64 {
	if b.MaxBytes == 0 {
		return 0
	}
	return b.MaxBytes + b.MaxBytes/8 + maxEvicted
}

// Exceeded reports whether the engine would pass the bound with the memory that a batch needs.
// Cost: linear in the arguments of its calls if there is a bound.
func (b Bound) Exceeded(e *engine.Engine, batch *engine.Batch) bool {
	return b.MaxBytes > 0 && e.MemoryBytes()+batch.Needed(b.MaxBytes) > b.MaxBytes
}

// Room returns the Room of a group with the given stamp and first batch. At the bound it first
// forgets keys that have expired at swept, which must not be after the time of any later Apply.
//
// Cost: linear in the arguments of the first batch if there is a bound; at the bound some
// microseconds for each page of expired or evicted keys.
func (b Bound) Room(e *engine.Engine, swept, stamp engine.Instant, first *engine.Batch) Room {
	if b.MaxBytes == 0 {
		return Room{Bytes: math.MaxInt}
	}
	most := b.MaxBytes - first.Needed(b.MaxBytes)
	for n := 0; n < maxSweeps && e.MemoryBytes() > most && e.SweepExpired(swept, sweepPages) > 0; n++ {
	}
	excess := e.MemoryBytes() - most
	switch {
	case excess <= 0:
		return Room{Bytes: int(max(minRoom, -excess/keyGrowth))}
	case b.Evict:
		if victims := e.Victims(stamp, min(excess+evictAhead, maxEvicted), nil); len(victims) > 0 || e.Len() == 0 {
			return Room{Victims: victims, Bytes: minRoom}
		}
	}
	return Room{Full: true, Bytes: math.MaxInt}
}
