package engine

import (
	"sync"
	"sync/atomic"
)

// A shard is the keys whose hashes start with the shard's number. Whoever holds
// the lock is its one writer.
type shard struct {
	mu      sync.Mutex
	waiting atomic.Int32 // how many wait in enter
	now     Instant      // the latest seen
	table
	sweepCursor    int // where the sweep goes on, an index of dir
	fruitlessPages int // how many pages in a row it has left with nothing to give
	// soonest is the first time that one of those may have something, and barrenUntil
	// that of all pages, when they had all been left so.
	soonestExpiry, noExpiryUntil Instant
	prefetched                   uint64 // makes the reads of warm count
	hashKey                      hashKey
	holderHashKeys               [2]hashKey // of holders
	bits                         uint8      // of a hash that are the shard's number
	memory                       *memory
	reportedBytes                int64 // bytes of this shard that memory knows of
	stats                        Stats
	resets                       []Span     // of the keys of a page
	evicted                      []Eviction // for the op being carried out
	full                         bool       // no key is to be made by the batch being carried out
	frozen                       *frozen    // what a Snapshot has still to read, or nil
	epoch                        uint32     // counts the freezes; see preserve

	cell    cell        // of the key being worked on: here, so that it needs no allocation
	scratch [2]pageHead // to pack and split pages with
	buffer  [2][]byte
	writer  pageWriter // of images

	tops       [topKinds]topWindows
	topScratch topScratch
}

// A table is what a shard has of its keys.
//
// It is extendible hashing: dir has an entry for each value of the first
// dirDepth bits of a key's hash, and a page as many entries as there are values
// of the bits that its keys do not share. It grows by one page at a time, so that
// no insertion costs more than a page's copy, now and then a copy of dir, which
// holds a page's number for about 60 keys.
//
// Source: R. Fagin et al., "Extendible hashing", ACM TODS 4(3), 1979.
type table struct {
	dir      []pageNumber
	dirDepth uint8
	keys     int64
	params   paramTable
	slab     slab
	chunks   chunks
	leases   leases
}

// bytes is the memory of the table.
func (t *table) bytes() int64 {
	return int64(len(t.dir))*pageNumberBytes + t.slab.bytes + t.chunks.bytes + t.leases.bytes + t.params.bytes()
}

// memory is the bound that all shards share.
type memory struct {
	used  atomic.Int64
	max   atomic.Int64 // 0 is none
	evict atomic.Bool
}

// A place is where a record stands, until the table is changed; without a page, it
// is none.
type place struct {
	page *pageHead
	slot int
}

// clear makes the table empty.
func (s *shard) clear() {
	s.detachTable()
	s.table = table{
		chunks: chunks{changes: s.chunks.changes},
		leases: leases{changes: s.leases.changes},
	}
	s.dir = []pageNumber{s.slab.add(0, s.epoch)}
	s.cell.chunks, s.cell.leases = &s.chunks, &s.leases
	s.sweepCursor, s.fruitlessPages, s.soonestExpiry, s.noExpiryUntil = 0, 0, 0, 0
}

// hash is the hash of a key of this shard, without the bits that are its number.
func (s *shard) hash(key []byte) uint64 { return s.hashKey.sum(key) << s.bits }

// enter takes the shard at now, or at the latest time that it has seen, but not
// beyond latest.
func (s *shard) lock(now Instant) Instant {
	if !s.mu.TryLock() {
		s.waiting.Add(1)
		s.mu.Lock()
		s.waiting.Add(-1)
	}
	s.now = max(s.now, min(now, latest))
	return s.now
}

// enterFor takes the shard at now to carry out ops of a batch.
func (s *shard) lockForBatch(b *Batch, now Instant) (at Instant) {
	if b.readOnly {
		return s.lockForRead(now)
	}
	at = s.lock(now)
	s.full = b.Full
	return at
}

// look takes the shard to read it at now, or at the latest time that it has
// seen, which stays as it is.
func (s *shard) lockForRead(now Instant) Instant {
	s.mu.Lock()
	return max(s.now, min(now, latest))
}

// leave gives the shard free.
func (s *shard) unlock() {
	s.publishUsage()
	s.mu.Unlock()
}

// settleMemory tells the engine what the shard has taken or given back.
func (s *shard) publishUsage() {
	held := s.bytes()
	if d := held - s.reportedBytes; d != 0 {
		s.memory.used.Add(d)
		s.reportedBytes = held
	}
}

// allows says whether the shard may take n bytes more than it has by now.
func (s *shard) withinBound(n int) bool {
	bound := s.memory.max.Load()
	if bound == 0 {
		return true
	}
	s.publishUsage()
	return s.memory.used.Load()+int64(n) <= bound
}

// pageOf is the page of a hash, whose first bits, the shard's number, are
// shifted out.
func (t *table) pageOf(h uint64) page { return t.slab.page(t.dir[h>>(64-t.dirDepth)]) }

// find looks a key up.
func (s *shard) find(h uint64, key []byte) (p page, slot int, found bool) {
	p = s.pageOf(h)
	t := tag(h, p.depth)
	for i := p.seek(t); i < p.slots() && p.tagAt(i) == t; i++ {
		at := p.offset(i)
		if string(p.key(at, s.stateWords(p, at))) == string(key) {
			return p, i, true
		}
	}
	return p, 0, false
}

// warmOps is how many ops are warmed up for at once.
const prefetchOps = 16

// warm reads what the ops on some hashes will look at: all their pages, then all
// their slots, then all their records, then the ends of their logs. The reads of
// each step do not depend on one another, so that the processor waits for memory
// once a step and not once an op. It decides nothing, and uses the cell.
func (s *shard) prefetch(hashes []uint64, order []int32) {
	if len(order) == 1 {
		return
	}
	var (
		pages [prefetchOps]page
		slots [prefetchOps]int
		sum   uint64
	)
	for i, op := range order {
		pages[i] = s.pageOf(hashes[op])
	}
	for i, op := range order {
		p := pages[i]
		if p.slots() == 0 {
			continue
		}
		slots[i] = min(p.seek(tag(hashes[op], p.depth)), p.slots()-1)
	}
	for i := range order {
		if p := pages[i]; p.slots() > 0 {
			sum += uint64(p.buf[p.offset(slots[i])])
		}
	}
	if s.chunks.bytes > 0 {
		sum += s.prefetchLogs(pages[:len(order)], &slots)
	}
	s.prefetched = sum
}

// warmLogs reads the ends of the logs of those slots that have one.
func (s *shard) prefetchLogs(pages []page, slots *[prefetchOps]int) (sum uint64) {
	var logs [prefetchOps]logState
	for i, p := range pages {
		if p.slots() > 0 && s.params.get(p.param(p.offset(slots[i]))).Alg == Log {
			logs[i] = loadLog(s.load(p, slots[i]))
		}
	}
	for i := range pages {
		if l := &logs[i]; l.first != 0 {
			sum += s.chunks.words(l.first)[chunkCount] + s.chunks.words(l.last)[chunkCount]
		}
	}
	return sum
}

// words is how many words of state the record at offset at of p has.
func (t *table) stateWords(p page, at int) int {
	return algorithms[t.params.get(p.param(at)).Alg].words
}

// load fills the cell from the record of slot i.
func (s *shard) load(p page, i int) *cell {
	at := p.offset(i)
	c := &s.cell
	e := &s.params.list[p.param(at)]
	c.params, c.past, c.state = e.params, e.past, state{}
	p.load(at, c.alg().words, &c.state)
	return c
}

// store writes the cell to its record, which has its algorithm. It is at rest at
// a time.
func (s *shard) store(pl place, expiry Instant) {
	p := s.slab.open(pl.page)
	s.preserve(p)
	s.noteExpiry(p, expiry)
	c := &s.cell
	at := p.offset(pl.slot)
	id := p.param(at)
	if !s.params.matches(id, c) {
		old := id
		id = s.params.retain(c)
		s.params.release(old)
	}
	p.store(at, id, c.alg().words, &c.state)
}

// insert adds a record for the cell under a key that is not there, which is at rest
// at a time. There is memory for it: see makeRoom.
func (s *shard) insert(h uint64, key []byte, expiry Instant) {
	c := &s.cell
	words := c.alg().words
	record := recordBytes(words, len(key))
	p := s.pageOf(h)
	for !p.fits(record) {
		p = s.enlarge(h, p, record)
	}
	s.preserve(p)
	s.noteExpiry(p, expiry)
	t, i := tag(h, p.depth), p.slots()
	if i > 0 && p.tagAt(i-1) >= t { // if not, it comes last, as keys do that come in order
		i = p.seek(t)
	}
	at := p.add(i, t, words, key)
	p.store(at, s.params.retain(c), words, &c.state)
	s.keys++
}

// widen packs, grows or splits the page of h, so that a record may fit.
func (s *shard) enlarge(h uint64, p page, record int) page {
	need := p.live() + slotBytes + record
	if need <= len(p.buf) {
		return s.repack(p, int(p.class))
	}
	if need > pageSizes[splitSize] && p.slots() > 1 && p.depth < maxDepth {
		s.split(h, p)
		return s.pageOf(h)
	}
	return s.repack(p, classFor(need))
}

// remove drops a record and whatever hangs on it.
func (s *shard) remove(pl place) {
	p := s.slab.open(pl.page)
	at := p.offset(pl.slot)
	s.preserve(p)
	c := s.load(p, pl.slot)
	key := p.key(at, c.alg().words)
	if s.frozen != nil && c.alg().tail != nil {
		s.preserveTail(s.hash(key))
	}
	s.discard(c)
	s.params.release(p.param(at))
	p.remove(pl.slot, recordBytes(s.cell.alg().words, len(key)))
	s.keys--
}

// discard releases what a cell holds outside of its record.
func (s *shard) discard(c *cell) {
	if t := c.alg().tail; t != nil {
		t.discard(c)
	}
}

// repack moves the records of p into a buffer of a class, without holes.
func (s *shard) repack(p page, class int) page {
	from := s.copyAside(p, 0)
	p = s.slab.resize(p, class)
	for i := range from.slots() {
		at, n, _ := s.record(from, i)
		p.copyRecord(from.tagAt(i), from, at, n)
	}
	return p
}

// record is where the record of slot i stands, its length, and its key in place.
func (t *table) record(p page, i int) (at, n int, key []byte) {
	at = p.offset(i)
	words := t.stateWords(p, at)
	key = p.key(at, words)
	return at, recordBytes(words, len(key)), key
}

// move copies the record of slot i to a page of another depth.
func (s *shard) move(from page, i int, to page) {
	at, n, key := s.record(from, i)
	to.copyRecord(tag(s.hash(key), to.depth), from, at, n)
}

// setAside copies a page, so that its buffer can be written anew.
func (s *shard) copyAside(p page, n int) page {
	s.buffer[n] = append(s.buffer[n][:0], p.buf...)
	s.scratch[n] = *p.pageHead
	return page{&s.scratch[n], s.buffer[n]}
}

// split parts the page of h in two by the first bit that its keys do not share.
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
}

// part leaves the page of h the first half of its hashes, and returns a new page
// for the second. The records are left to the caller.
func (s *shard) addSibling(h uint64, p page) pageNumber {
	s.preserve(p)
	if p.depth == s.dirDepth {
		s.doubleDir()
	}
	p.depth++
	second := s.slab.add(p.depth, s.epoch)
	s.slab.page(second).nextExpiry = p.nextExpiry
	span := 1 << (s.dirDepth - p.depth) // entries of a half
	first := int(h>>(64-s.dirDepth)) &^ (2*span - 1)
	for i := range span {
		s.dir[first+span+i] = second
	}
	return second
}

func (s *shard) doubleDir() {
	dir := make([]pageNumber, 2*len(s.dir))
	for i, n := range s.dir {
		dir[2*i], dir[2*i+1] = n, n
	}
	s.dir = dir
	s.dirDepth++
	s.sweepCursor *= 2
}
