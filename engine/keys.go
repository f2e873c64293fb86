package engine

import "encoding/binary"

// Stats are totals since the start, or since SetCounting, but for Keys, MemoryBytes and
// ImageBytes.
type Stats struct {
	Keys        int64 // including rested ones not yet forgotten
	MemoryBytes int64 // of the keys and all that belongs to them
	ImageBytes  int64 // that an open Snapshot holds besides
	// Allowed and Denied count decisions by Alg. Looks do not count.
	Allowed, Denied [algs]int64
	ShadowDenied    int64 // of those denied, how many were answered as allowed
	Forgotten       int64 // rested keys
	Evicted         int64 // live keys dropped for want of memory
	Refused         int64 // ops answered NoMemory
}

// SetCounting says whether what is carried out from now on counts: the totals of Stats
// begin anew with true, and are 0 after false, as for what is carried out again from a
// log. Cost: each shard is entered once.
func (e *Engine) SetCounting(on bool) {
	e.statsDisabled.Store(true)
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		s.stats = Stats{}
		s.mu.Unlock()
	}
	e.statsDisabled.Store(!on)
}

// Stats adds up the shards. Cost: each shard is entered once.
func (e *Engine) Stats() Stats {
	t := e.totals()
	if e.statsDisabled.Load() {
		t = Stats{Keys: t.Keys}
	}
	t.MemoryBytes = e.MemoryBytes()
	if n := e.snapshot.Load(); n != nil {
		t.ImageBytes = n.bytes.Load()
	}
	return t
}

// totals are those of all shards, and their keys.
func (e *Engine) totals() (t Stats) {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		t.Keys += s.keys
		for a := range t.Allowed {
			t.Allowed[a] += s.stats.Allowed[a]
			t.Denied[a] += s.stats.Denied[a]
		}
		t.ShadowDenied += s.stats.ShadowDenied
		t.Forgotten += s.stats.Forgotten
		t.Evicted += s.stats.Evicted
		t.Refused += s.stats.Refused
		s.mu.Unlock()
	}
	return t
}

// A ShardStat is what Stats says of one shard.
type ShardStat struct {
	Keys        int64
	MemoryBytes int64
}

// ShardStats appends what each shard has to dst, in the order of their numbers,
// and returns it. Cost: each shard is entered once; no allocation if dst has room.
func (e *Engine) ShardStats(dst []ShardStat) []ShardStat {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		dst = append(dst, ShardStat{Keys: s.keys, MemoryBytes: s.reportedBytes})
		s.mu.Unlock()
	}
	return dst
}

// MemoryBytes is as of Stats. Cost: one atomic load.
func (e *Engine) MemoryBytes() int64 { return e.memory.used.Load() }

// Len is how many keys there are, including rested ones not yet forgotten.
func (e *Engine) Len() int64 { return e.Stats().Keys }

// Sweep looks at some pages, of about 60 keys each, forgets their rested keys
// and gives back the memory that they do not need. It goes on where the last
// call stopped. Cost: a few microseconds a page, one shard entered at a time.
func (e *Engine) Sweep(now Instant, pages int) (forgotten int64) {
	for range pages {
		s := &e.shards[int(e.sweepShard.Add(1))%len(e.shards)]
		at := s.lock(now)
		before := s.keys
		s.sweepPage(at)
		forgotten += before - s.keys
		s.unlock()
	}
	return forgotten
}

// Scan calls visit for live keys in the order of their hashes, from cursor on,
// until at least count were seen or as many pages looked at, and returns the
// cursor to go on with, 0 at the end. A key that is there during a whole scan is visited, however the table
// grows meanwhile. visit must not keep key, nor call the Engine.
//
// Cursors are below 2^48, since some clients keep them as floating point numbers.
// Cost: what is visited, and at most count pages of rested keys.
func (e *Engine) Scan(now Instant, cursor uint64, count int, visit func(key []byte, alg Alg)) uint64 {
	for cursor <<= cursorShift; count > 0; {
		seen := 0
		cursor = e.livePage(now, cursor, func(s *shard, _ Instant, pl place) {
			visit(s.keyAt(pl), s.cell.params.Alg)
			seen++
		})
		count -= max(seen, 1)
		if cursor == 0 {
			return 0
		}
	}
	return cursor >> cursorShift
}

// cursorShift cuts the bits of a hash that are zero where a page starts.
const cursorShift = 16

// livePage calls look for the live keys from a hash on that are in its page, each
// loaded into the cell, and returns the hash that the next page starts with, 0 at
// the end. The shard is entered for it, and nothing changed.
func (e *Engine) livePage(now Instant, hash uint64, visit func(s *shard, at Instant, pl place)) (next uint64) {
	s := &e.shards[hash>>(64-e.bits)]
	at := s.lockForRead(now)
	h := hash << e.bits
	p := s.pageOf(h)
	for i := p.seek(tag(h, p.depth)); i < p.slots(); i++ {
		if c := s.load(p, i); c.limiter().used(c, at) > 0 {
			visit(s, at, place{p.pageHead, i})
		}
	}
	if p.depth > 0 {
		next = (h>>(64-p.depth) + 1) << (64 - p.depth) >> e.bits
	}
	s.mu.Unlock()
	if next == 0 { // the shard's end
		return (hash>>(64-e.bits) + 1) << (64 - e.bits)
	}
	return hash>>(64-e.bits)<<(64-e.bits) | next
}

// keyAt is the key of a place, valid until the table is changed.
func (s *shard) keyAt(pl place) []byte {
	_, _, key := s.record(s.slab.open(pl.page), pl.slot)
	return key
}

// at finds a live key for the methods that are no ops.
func (e *Engine) withLiveKey(now Instant, key []byte, visit func(s *shard, at Instant, pl place)) {
	h := e.key.sum(key)
	s := &e.shards[h>>(64-e.bits)]
	at := s.lockForRead(now)
	if pl, _ := s.findLive(at, key, h<<e.bits); !pl.missing() {
		visit(s, at, pl)
	}
	s.mu.Unlock()
}

// findLive finds a live key, loads it into the cell and tells what is used of it.
// It changes nothing but the cell.
func (s *shard) findLive(now Instant, key []byte, h uint64) (pl place, used int64) {
	p, i, found := s.find(h, key)
	if !found {
		return place{}, 0
	}
	c := s.load(p, i)
	if used = c.limiter().used(c, now); used == 0 {
		return place{}, 0
	}
	return place{p.pageHead, i}, used
}

// KeyBytes is the memory of a live key with its share of the table, 0 if there
// is none. Cost: for a LOG key one step per chunk of up to 255 entries.
func (e *Engine) KeyBytes(now Instant, key []byte) (bytes int64) {
	e.withLiveKey(now, key, func(s *shard, _ Instant, pl place) { bytes = s.keyBytes(pl) })
	return bytes
}

// keyBytes is the memory of the key in the cell, with its share of the table.
func (s *shard) keyBytes(pl place) int64 {
	c, p := &s.cell, s.slab.open(pl.page)
	_, record, _ := s.record(p, pl.slot)
	bytes := int64(slotBytes+record) * int64(len(p.buf)) / int64(p.live())
	switch c.params.Alg {
	case Log:
		bytes += slidingLog{}.bytes(c)
	case Lease:
		bytes += s.leases.size(loadLease(c).byEnd) * leaseNodeBytes
	}
	return bytes
}

// Fingerprint is a number that changes whenever the state or the parameters of a
// live key do, but not with the passing of time; 0 if there is none. It is what
// an Expect compares.
func (e *Engine) Fingerprint(now Instant, key []byte) (print int64) {
	e.withLiveKey(now, key, func(s *shard, _ Instant, _ place) { print = s.cellFingerprint() })
	return print
}

func (s *shard) fingerprint(now Instant, h uint64, key []byte) int64 {
	if pl, _ := s.findLive(now, key, h); pl.missing() {
		return 0
	}
	return s.cellFingerprint()
}

// print is the fingerprint of the cell.
func (s *shard) cellFingerprint() int64 {
	c, p := &s.cell, &s.cell.params
	words := c.state
	switch p.Alg { // where their entries are does not matter
	case Log:
		words = state{c.state[2]}
	case Lease:
		words = state{c.state[1]}
	}
	var b [(6 + len(words)) * wordBytes]byte
	for i, w := range [...]uint64{
		uint64(p.Alg)<<8 | uint64(p.Calendar), uint64(p.Limit), uint64(p.Count), uint64(p.Period), uint64(c.past.until), uint64(c.past.n),
	} {
		binary.LittleEndian.PutUint64(b[i*wordBytes:], w)
	}
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[(6+i)*wordBytes:], w)
	}
	return int64(s.hashKey.sum(b[:]) | 1)
}
