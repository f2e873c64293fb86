package engine

import (
	"iter"
	"sync"
	"sync/atomic"

	"limitsrv/engine/siphash"
	"limitsrv/engine/topk"
	"limitsrv/engine/values"
	"limitsrv/internal/invariants"
)

// A shard holds the keys with hashes that start with the shard's number. Concurrency: all
// fields except waiting and memory are guarded by mu.
type shard struct {
	mu      sync.Mutex
	waiting atomic.Int32 // callers blocked in lock
	now     Instant      // the latest time seen
	table
	sweepCursor    uint64 // where the sweep continues: a hash without the bits of the shard's number
	fruitlessPages int    // number of consecutive pages without memory for the sweep to free
	// soonestExpiry is the earliest nextExpiry of those pages. noExpiryUntil is the same
	// for all pages, set when a round of the sweep freed nothing.
	soonestExpiry, noExpiryUntil Instant
	reuse                        reuse
	prefetched                   uint64 // sink of the reads in prefetch
	sought                       soughtSlots
	seed                         [16]byte    // for values.Store
	hashKey                      siphash.Key // secrets.table
	secrets                      *secrets
	bits                         uint8 // bits of a hash that select the shard
	memory                       *memory
	reportedBytes                int64 // of this shard, as counted in memory
	stats                        Stats
	moves                        uint32  // number of changes that may have given a place to another record
	full                         bool    // the batch being applied may create no key
	boundless                    bool    // the op being applied ignores the backstop
	countsLater                  bool    // the caller of apply calls countKey
	frozen                       *frozen // the part of a Snapshot that is not read yet, or nil
	epoch                        uint32  // number of freezes; see preserve

	cell    cell        // the key of the op being applied; a field to avoid an allocation
	scratch [2]pageHead // for packing and splitting pages
	buffer  [2][]byte
	writer  pageWriter // of images

	tops       [topKinds]topk.Windows
	topScratch topk.Scratch
	closings   closings

	samples invariantSamples
}

// A table stores the keys of a shard.
//
// It uses extendible hashing: the directory finds the page of a hash, and a page holds all keys
// with hashes that start with the same bits. It grows by one page at a time. An insertion copies at
// most one page, and occasionally the directory.
type table struct {
	directory
	keys   int64
	keysIn [Databases]int64
	// lastingIn are the keys of keysIn that never expire: plain values without an expiry.
	lastingIn [Databases]int64
	params    paramTable
	slab      slab
	chunks    chunks
	leases    leases
	holds     holds
	values    *values.Store
}

// bytes returns the memory of the table.
func (t *table) bytes() int64 {
	return t.directory.bytes() + t.slab.bytes + t.chunks.bytes + t.leases.bytes + t.holds.bytes() + t.values.Bytes() +
		t.params.bytes()
}

// memory is the memory of all shards, and its bound for ops.
type memory struct {
	used atomic.Int64
	most atomic.Int64 // of SetBackstop; 0: no bound
}

// A place locates a record until the table is changed. The zero value is no place.
type place struct {
	page    *pageHead
	slot    int
	expired bool // the record of a key that is not live any more
}

// clear makes the table empty.
func (s *shard) clear() {
	s.detachTable()
	s.table = table{
		chunks: chunks{changes: s.chunks.changes},
		leases: leases{priorities: s.secrets.priorities, changes: s.leases.changes},
		holds: holds{changes: s.holds.changes, stats: s.holds.stats.none(),
			records: s.holds.records.none()},
		values: values.New(s.seed),
	}
	s.dir = []pageNumber{s.slab.add(0, s.epoch)}
	s.cell.chunks, s.cell.leases, s.cell.holdings = &s.chunks, &s.leases, &s.holds
	s.cell.values = s.values
	s.sweepCursor, s.fruitlessPages, s.soonestExpiry, s.noExpiryUntil = 0, 0, 0, 0
	s.reuse.soonest, s.reuse.until = 0, 0
}

// hash returns the hash of a key of this shard, as Engine.locate does.
func (s *shard) hash(db uint8, key []byte) uint64 {
	return tailored(sumIn(s.hashKey, db, key), s.bits, db)
}

// lock locks the shard and advances its time to now, at most to latest. It returns the
// shard's time.
func (s *shard) lock(now Instant) Instant {
	s.wait()
	s.now = s.later(now)
	return s.now
}

// wait locks the shard, and counts the caller while it waits.
func (s *shard) wait() {
	if !s.mu.TryLock() {
		s.waiting.Add(1)
		s.mu.Lock()
		s.waiting.Add(-1)
	}
}

// later returns the later of now, at most latest, and the time of the shard.
func (s *shard) later(now Instant) Instant { return max(s.now, min(now, latest)) }

// lockForRead locks the shard and returns the later of now and its time, which is
// unchanged.
func (s *shard) lockForRead(now Instant) Instant {
	s.mu.Lock()
	return s.later(now)
}

// unlock unlocks the shard.
func (s *shard) unlock() {
	s.publishUsage()
	s.mu.Unlock()
}

// publishUsage adds the change of the shard's memory since the last call to the engine's.
func (s *shard) publishUsage() {
	held := s.bytes()
	if d := held - s.reportedBytes; d != 0 {
		s.memory.used.Add(d)
		s.reportedBytes = held
	}
}

// withinBound reports whether the shard may allocate n more bytes.
func (s *shard) withinBound(n int) bool {
	bound := s.memory.most.Load()
	if bound == 0 || s.boundless {
		return true
	}
	s.publishUsage()
	return s.memory.used.Load()+int64(n) <= bound
}

// pageOf returns the page of a hash without the bits of the shard's number.
func (t *table) pageOf(h uint64) page { return t.slab.open(t.headOf(h)) }

// headOf returns the head of the page of a hash without the bits of the shard's number.
func (t *table) headOf(h uint64) *pageHead { return t.slab.head(t.numberOf(h)) }

// pages yields the pages in the order of their hashes. The yielded page may be resized.
func (t *table) pages() iter.Seq[page] {
	return func(yield func(page) bool) {
		for h, more := uint64(0), true; more; more = h != 0 {
			p := t.pageOf(h)
			if !yield(p) {
				return
			}
			h = hashAfter(h, p.depth)
		}
	}
}

// find returns the page of a key, and its slot if it is found.
func (s *shard) find(h uint64, key []byte) (p page, i int, found bool) {
	p = s.pageOf(h)
	t := tag(h, p.depth)
	for i = s.sought.seek(p, h); i < p.slots() && p.tagAt(i) == t; i++ {
		at := p.offset(i)
		if string(p.key(at, s.stateWords(p, at))) == string(key) {
			if p.head(at).db() == dbOf(h) {
				return p, i, true
			}
		}
	}
	return p, 0, false
}

// stateWords returns the number of state words of the record at offset at of p.
func (t *table) stateWords(p page, at int) int {
	return int(t.params.list[p.param(at)].words)
}

// load fills the cell from the record of slot i.
func (s *shard) load(p page, i int) *cell {
	at := p.offset(i)
	c := &s.cell
	e := &s.params.list[p.param(at)]
	c.params, c.past, c.state = e.params, e.past, state{}
	p.load(at, int(e.words), &c.state)
	if e.past.held != 0 {
		c.holds = s.holds.of(c)
	}
	return c
}

// store writes the cell to its record, which must have the cell's algorithm. The key
// expires at expiry, or earlier once one of its holds has ended.
func (s *shard) store(pl place, expiry Instant) {
	p := s.slab.open(pl.page)
	s.preserve(p)
	c := &s.cell
	at := p.offset(pl.slot)
	head := p.head(at)
	if old := head.param(); !s.params.matches(old, c) {
		head = headOf(s.params.retain(c), head.db())
		s.params.release(old)
	}
	if c.past.held != 0 {
		s.holds.keep(c)
		expiry = min(expiry, c.holds.least)
	}
	s.noteExpiry(p, expiry, c.removal(expiry))
	p.store(at, head, c.words(), &c.state)
}

// insert adds a record for the cell under a key that must be missing. See store for
// expiry. Requires: memory was ensured by makeRoom.
func (s *shard) insert(h uint64, key []byte, expiry Instant) {
	c := &s.cell
	words := c.words()
	record := recordBytes(words, len(key))
	p := s.pageOf(h)
	for !p.fits(record) {
		p = s.enlarge(h, p, record)
	}
	s.preserve(p)
	s.moves++
	t, i := tag(h, p.depth), p.slots()
	if i > 0 && p.tagAt(i-1) >= t { // otherwise it is the last, as when keys arrive in order
		i = p.seek(t)
	}
	at := p.add(i, t, words, key)
	if c.past.held != 0 {
		s.holds.keep(c)
		expiry = min(expiry, c.holds.least)
	}
	s.noteExpiry(p, expiry, c.removal(expiry))
	p.store(at, headOf(s.params.retain(c), dbOf(h)), words, &c.state)
	s.count(dbOf(h), 1)
	if invariants.Enabled && s.samples.records.Next() {
		s.checkRecords(p)
	}
}

// enlarge packs, grows or splits the page of h, so that a record may fit. It returns the
// new page of h.
func (s *shard) enlarge(h uint64, p page, record int) page {
	need := p.live() + slotBytes + record
	if need <= len(p.buf) {
		return s.repack(p, int(p.class))
	}
	if s.isSplit(p, need) {
		s.split(h, p)
		return s.pageOf(h)
	}
	return s.repack(p, classFor(need))
}

// remove deletes a record and releases its tail and parameters.
func (s *shard) remove(pl place) {
	p := s.slab.open(pl.page)
	at := p.offset(pl.slot)
	s.preserve(p)
	c := s.load(p, pl.slot)
	if s.frozen != nil && c.copied() != nil {
		s.preserveTail(s.hash(p.head(at).db(), p.key(at, c.words())))
	}
	s.discard(c)
	s.unlink(pl)
}

// unlink deletes a record, and releases its parameters.
func (s *shard) unlink(pl place) {
	p := s.slab.open(pl.page)
	s.preserve(p)
	at, record, _ := s.record(p, pl.slot)
	head := p.head(at)
	s.moves++
	s.count(head.db(), -1)
	s.params.release(head.param())
	p.remove(pl.slot, record)
	if invariants.Enabled && s.samples.records.Next() {
		s.checkRecords(p)
	}
}

// discard releases the memory of a cell outside of its record.
func (s *shard) discard(c *cell) {
	if t := c.tail(); t != nil {
		t.discard(c)
	}
}

// repack rewrites the records of p without holes, in a buffer of a class.
func (s *shard) repack(p page, class int) page {
	from := s.copyAside(p, 0)
	p = s.slab.resize(p, class)
	for i := range from.slots() {
		at, n, _ := s.record(from, i)
		p.copyRecord(from.tagAt(i), from, at, n)
	}
	return p
}

// record returns the offset of the record of slot i, its length, and its key in place.
func (t *table) record(p page, i int) (at, n int, key []byte) {
	at = p.offset(i)
	words := t.stateWords(p, at)
	key = p.key(at, words)
	return at, recordBytes(words, len(key)), key
}

// move copies the record of slot i to a page of another depth.
func (s *shard) move(from page, i int, to page) {
	at, n, key := s.record(from, i)
	to.copyRecord(tag(s.hash(from.head(at).db(), key), to.depth), from, at, n)
}

// copyAside copies a page to scratch memory n, so that its buffer can be rewritten.
func (s *shard) copyAside(p page, n int) page {
	s.buffer[n] = append(s.buffer[n][:0], p.buf...)
	s.scratch[n] = *p.pageHead
	return page{&s.scratch[n], s.buffer[n]}
}

// split divides the page of h by the first bit that its keys do not share.
func (s *shard) split(h uint64, p page) {
	from := s.copyAside(p, 0)
	halves := [2]pageNumber{p.number, s.addSibling(h, p)}
	var bytes [2]int
	for i := range from.slots() {
		_, n, _ := s.record(from, i)
		bytes[from.tagAt(i)>>15] += n + slotBytes
	}
	for i, half := range halves {
		s.slab.resize(s.slab.page(half), classFor(bytes[i]))
	}
	for i := range from.slots() {
		s.move(from, i, s.slab.page(halves[from.tagAt(i)>>15]))
	}
	if invariants.Enabled && s.samples.pages.Next() {
		s.checkTable()
	}
}

// addSibling limits the page of h to the first half of its hashes, and returns a new page
// for the second half. The caller must move the records.
func (s *shard) addSibling(h uint64, p page) pageNumber {
	s.preserve(p)
	for p.depth >= s.dirDepth && s.mayDouble(s.slab.pages()) {
		s.double()
	}
	p.depth++
	second := s.slab.add(p.depth, s.epoch)
	s.slab.page(second).nextExpiry = p.nextExpiry
	s.divide(h, p.depth, p.number, second)
	return second
}
