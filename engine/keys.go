package engine

import "encoding/binary"

// Stats are totals since the start, but for Keys and MemoryBytes.
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

// Stats adds up the shards. Cost: each shard is entered once.
func (e *Engine) Stats() Stats {
	var t Stats
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
	t.MemoryBytes = e.memory.used.Load()
	if n := e.snapshot.Load(); n != nil {
		t.ImageBytes = n.bytes.Load()
	}
	return t
}

// Len is how many keys there are, including rested ones not yet forgotten.
func (e *Engine) Len() int64 { return e.Stats().Keys }

// Sweep looks at some pages, of about 60 keys each, forgets their rested keys
// and gives back the memory that they do not need. It goes on where the last
// call stopped. Cost: a few microseconds a page, one shard entered at a time.
func (e *Engine) Sweep(now Instant, pages int) (forgotten int64) {
	for range pages {
		s := &e.shards[int(e.hand.Add(1))%len(e.shards)]
		at := s.enter(now)
		before := s.keys
		s.sweepPage(at)
		forgotten += before - s.keys
		s.leave()
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
		s := &e.shards[cursor>>(64-e.bits)]
		at := s.look(now)
		next, seen := s.scanPage(at, cursor<<e.bits, visit)
		s.mu.Unlock()
		count -= max(seen, 1)
		if next == 0 { // the shard's end
			next = (cursor>>(64-e.bits) + 1) << (64 - e.bits)
		} else {
			next = cursor>>(64-e.bits)<<(64-e.bits) | next>>e.bits
		}
		if next <= cursor { // around
			return 0
		}
		cursor = next
	}
	return cursor >> cursorShift
}

// cursorShift cuts the bits of a hash that are zero where a page starts.
const cursorShift = 16

// scanPage visits the live keys of the page of h from h on, and returns the hash
// that the next page starts with, 0 at the end.
func (s *shard) scanPage(now Instant, h uint64, visit func(key []byte, alg Alg)) (next uint64, seen int) {
	p := s.pageOf(h)
	for i := p.seek(tag(h, p.depth)); i < p.slots(); i++ {
		c := s.load(p, i)
		if c.alg().rule.used(c, now) > 0 {
			visit(p.key(p.offset(i), c.alg().words), c.params.Alg)
			seen++
		}
	}
	if p.depth == 0 {
		return 0, seen
	}
	return (h>>(64-p.depth) + 1) << (64 - p.depth), seen
}

// at finds a live key for the methods that are no ops.
func (e *Engine) at(now Instant, key []byte, look func(s *shard, pl place)) {
	h := e.key.sum(key)
	s := &e.shards[h>>(64-e.bits)]
	at := s.look(now)
	if pl, ok := s.findLive(at, key, h<<e.bits); ok {
		look(s, pl)
	}
	s.mu.Unlock()
}

// findLive finds a live key and loads it into the cell. It changes nothing.
func (s *shard) findLive(now Instant, key []byte, h uint64) (place, bool) {
	p, i, found := s.find(h, key)
	if !found {
		return place{}, false
	}
	c := s.load(p, i)
	return place{p.pageHead, i}, c.alg().rule.used(c, now) > 0
}

// KeyBytes is the memory of a live key with its share of the table, 0 if there
// is none. Cost: for a LOG key one step per chunk of up to 255 entries.
func (e *Engine) KeyBytes(now Instant, key []byte) (bytes int64) {
	e.at(now, key, func(s *shard, pl place) {
		c, p := &s.cell, s.slab.open(pl.page)
		record := slotBytes + recordBytes(c.alg().words, len(key))
		bytes = int64(record) * int64(len(p.buf)) / int64(p.live())
		switch c.params.Alg {
		case Log:
			bytes += slidingLog{}.bytes(c)
		case Lease:
			bytes += s.leases.size(loadLease(c).byEnd) * leaseNodeBytes
		}
	})
	return bytes
}

// Fingerprint is a number that changes whenever the state or the parameters of a
// live key do, but not with the passing of time; 0 if there is none. It is what
// an Expect compares.
func (e *Engine) Fingerprint(now Instant, key []byte) (print int64) {
	e.at(now, key, func(s *shard, pl place) { print = s.print() })
	return print
}

func (s *shard) fingerprint(now Instant, h uint64, key []byte) int64 {
	if _, ok := s.findLive(now, key, h); !ok {
		return 0
	}
	return s.print()
}

// print is the fingerprint of the cell.
func (s *shard) print() int64 {
	c, p := &s.cell, &s.cell.params
	words := c.state
	switch p.Alg { // where their entries are does not matter
	case Log:
		words = state{c.state[3]}
	case Lease:
		words = state{c.state[1]}
	}
	var b [(4 + len(words)) * wordBytes]byte
	for i, w := range [...]uint64{uint64(p.Alg)<<8 | uint64(p.Calendar), uint64(p.Limit), uint64(p.Count), uint64(p.Period)} {
		binary.LittleEndian.PutUint64(b[i*wordBytes:], w)
	}
	for i, w := range words {
		binary.LittleEndian.PutUint64(b[(4+i)*wordBytes:], w)
	}
	return int64(s.hashKey.sum(b[:]) | 1)
}
