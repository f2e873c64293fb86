package engine

// SetCounting turns the totals of [Stats] on, starting at 0, or off: they then stay 0, for
// example while a log is replayed. Cost: each shard is locked once.
func (e *Engine) SetCounting(on bool) {
	e.statsDisabled.Store(true)
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		s.stats, s.holds.stats = Stats{}, HoldStats{Open: s.holds.stats.Open}
		s.holds.records = s.holds.records.current()
		s.mu.Unlock()
	}
	e.sources.forgetRuns()
	e.ResetCommandCounts()
	e.statsDisabled.Store(!on)
}

// Stats returns the sums over all shards. Cost: each shard is locked once.
func (e *Engine) Stats() Stats {
	t := e.totals()
	if e.statsDisabled.Load() {
		t = Stats{Keys: t.Keys, ImageBytes: t.ImageBytes, Holds: HoldStats{Open: t.Holds.Open},
			Reservations: t.Reservations.current()}
	}
	t.MemoryBytes = e.MemoryBytes()
	if n := e.snapshot.Load(); n != nil {
		t.ImageBytes += n.bytes.Load()
	}
	return t
}

// totals returns the sums over all shards, including their keys.
func (e *Engine) totals() (t Stats) {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		t.Keys += s.keys
		t.ImageBytes += s.values.CopiedBytes()
		for a := range t.Allowed {
			t.Allowed[a] += s.stats.Allowed[a]
			t.Denied[a] += s.stats.Denied[a]
		}
		t.ShadowDenied += s.stats.ShadowDenied
		t.ChargesCut += s.stats.ChargesCut
		t.Forgotten += s.stats.Forgotten
		t.Evicted += s.stats.Evicted
		t.Refused += s.stats.Refused
		t.Holds.add(s.holds.stats)
		t.Reservations.add(&s.holds.records)
		t.RunStats.add(s.stats.RunStats)
		s.mu.Unlock()
	}
	return t
}

// A ShardStat is the part of a shard in Stats.
type ShardStat struct {
	Keys        int64
	MemoryBytes int64
}

// ShardStats appends the statistics of each shard to dst, in the order of their numbers,
// and returns it. Cost: each shard is locked once; no allocation if dst has capacity.
func (e *Engine) ShardStats(dst []ShardStat) []ShardStat {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		dst = append(dst, ShardStat{Keys: s.keys, MemoryBytes: s.reportedBytes})
		s.mu.Unlock()
	}
	return dst
}

// MemoryBytes returns Stats.MemoryBytes. Cost: the same atomic load.
func (e *Engine) MemoryBytes() int64 { return e.memory.used.Load() }

// Len returns the number of keys, including expired keys not yet forgotten.
func (e *Engine) Len() int64 { return e.Stats().Keys }

// Sweep forgets the expired keys of some pages, of about 60 keys each, and frees unused
// memory of these pages. The record of a limit may stay for its next take for some seconds
// after it has expired. It continues where the last call stopped. Cost: a few microseconds
// a page with expired keys, a cache miss a page without, one shard locked at a time.
func (e *Engine) Sweep(now Instant, pages int) (forgotten int64) {
	for range pages {
		s := &e.shards[int(e.sweepShard.Add(1))%len(e.shards)]
		at := s.lock(now)
		before := s.keys
		s.sweepPage(at, s.reuse.idleSince(at))
		forgotten += before - s.keys
		s.unlock()
	}
	return forgotten
}

// Scan calls visit for live keys of a database in the order of their hashes, starting at cursor. It
// stops once count keys were visited or count pages were read, at the end of a page. It returns the
// next cursor; 0 at the end. A key that exists during a whole scan is visited, even if the table
// grows meanwhile. visit must not retain key or call the Engine.
//
// Cursors reveal nothing about hashes. They are below 2^48, because some clients store them as
// floating-point numbers. Cost: the visited keys, and at most count pages of expired keys.
func (e *Engine) Scan(now Instant, db uint8, cursor uint64, count int, visit func(key []byte, alg Alg)) uint64 {
	hash := e.secrets.keyScans.Invert(cursor) << cursorShift
	for count > 0 || hash%(1<<cursorShift) != 0 {
		seen := 0
		hash = e.livePage(now, hash, func(s *shard, _ Instant, pl place) {
			if s.dbAt(pl) != db {
				return
			}
			visit(s.keyAt(pl), s.cell.params.Alg)
			seen++
		})
		count -= max(seen, 1)
		if hash == 0 {
			return 0
		}
	}
	return e.secrets.keyScans.Map(hash >> cursorShift)
}

// livePage calls visit for the live keys from a hash on that are in its page, each loaded
// into the cell, and returns the first hash of the next page, 0 at the end. It locks the
// shard, and changes nothing.
func (e *Engine) livePage(now Instant, hash uint64, visit func(s *shard, at Instant, pl place)) (next uint64) {
	s := &e.shards[hash>>(64-e.bits)]
	at := s.lockForRead(now)
	h := hash << e.bits
	p := s.pageOf(h)
	for i := p.seek(tag(h, p.depth)); i < p.slots(); i++ {
		if c := s.load(p, i); c.meter().used(c, at) > 0 {
			visit(s, at, place{page: p.pageHead, slot: i})
		}
	}
	next = hashAfter(h, p.depth) >> e.bits
	s.mu.Unlock()
	if next == 0 { // the shard's end
		return (hash>>(64-e.bits) + 1) << (64 - e.bits)
	}
	return hash>>(64-e.bits)<<(64-e.bits) | next
}

// keyAt returns the key of a place, valid until the table is changed.
func (s *shard) keyAt(pl place) []byte {
	_, _, key := s.record(s.slab.open(pl.page), pl.slot)
	return key
}

// withLiveKey calls visit with a live key, if it exists, for the methods that are not
// ops. The shard is locked during the call.
func (e *Engine) withLiveKey(now Instant, db uint8, key []byte, visit func(s *shard, at Instant, pl place)) {
	shard, h := e.locate(db, key)
	s := &e.shards[shard]
	at := s.lockForRead(now)
	if pl, _ := s.findLive(at, key, h); !pl.missing() {
		visit(s, at, pl)
	}
	s.mu.Unlock()
}

// KeyBytes returns the memory of a live key with its share of the table, 0 if there is no
// such key. Cost: for a LOG key a step per chunk of up to 255 entries.
func (e *Engine) KeyBytes(now Instant, db uint8, key []byte) (bytes int64) {
	e.withLiveKey(now, db, key, func(s *shard, _ Instant, pl place) { bytes = s.keyBytes(pl) })
	return bytes
}

// keyBytes returns the memory of the key in the cell, with its share of the table.
func (s *shard) keyBytes(pl place) int64 {
	c, p := &s.cell, s.slab.open(pl.page)
	_, record, _ := s.record(p, pl.slot)
	bytes := int64(slotBytes+record) * int64(len(p.buf)) / int64(p.live())
	if t := c.tail(); t != nil {
		bytes += t.bytes(c)
	}
	return bytes
}

// Fingerprint returns a number that changes whenever the state or the parameters of a
// live key do, but not as time passes; 0 if there is no such key. Expect compares it.
func (e *Engine) Fingerprint(now Instant, db uint8, key []byte) (fingerprint int64) {
	e.withLiveKey(now, db, key, func(s *shard, _ Instant, _ place) { fingerprint = s.cellFingerprint() })
	return fingerprint
}

// KeysIn returns the number of keys of each database, including expired keys not yet
// forgotten, and the number of keys among them that never expire. Cost: each shard is
// locked once.
func (e *Engine) KeysIn() (keys, lasting [Databases]int64) {
	for i := range e.shards {
		s := &e.shards[i]
		s.mu.Lock()
		for db := range keys {
			keys[db] += s.keysIn[db]
			lasting[db] += s.lastingIn[db]
		}
		s.mu.Unlock()
	}
	return keys, lasting
}
