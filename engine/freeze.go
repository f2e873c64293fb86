package engine

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Snapshot is an engine as it was at the moment of a Freeze, to be read out
// once, while the engine goes on. A page of the table that is about to be changed
// is first written into an image, unless it has been read; the reader finds the
// unchanged pages in the table and the others in their images. Entries of logs
// and holders are copied with the first change to those of their key.
//
// Each shard is read by one goroutine; several may read different shards at once.
// The images take as much memory as the records of the pages that are changed
// before they are read, beyond the bound of the engine: see Stats.ImageBytes. If
// all keys are in use, that is about as much again as they take.
type Snapshot struct {
	engine *Engine
	now    Instant
	keys   int64
	frozen []frozen     // by shard
	bytes  atomic.Int64 // of images and tables set aside

	mu           sync.Mutex
	spareBuffers [][]byte // memory for images that no shard uses
}

// frozen is what a shard keeps for a Snapshot until it has been read. It is under
// the shard's lock.
type frozen struct {
	snapshot *Snapshot
	table    *table       // of the shard, or what it had before a Flush
	at       uint64       // the hash that the reader goes on with
	dirDepth uint8        // as it was
	part     int          // what has been read of the page there: the page, and how many stubs
	stubs    []byte       // of it that are to be read
	buffer   []byte       // for the stubs of a page that had no image
	changes  [algs]uint64 // of tails, as it was
	images   []*imageIndex
	tails    map[tailRef]savedRef
	store    [][]byte // what is kept, each with its length in front
}

// A tailRef names the tail of a record as it was.
type tailRef struct {
	alg  Alg
	word uint64
}

// A keptRef is where something is kept: an index of store, counted from 1, and an
// offset. An image is the length of the records without tails, these, and stubs.
type savedRef struct{ store, at uint32 }

// An imageIndex is where the images are of the pages that start with some
// consecutive entries of the dir as it was, zero for none.
type imageIndex [1 << imageIndexBits]savedRef

const (
	imageIndexBits = 9
	lengthBytes    = 4
	storeBytes     = 64 << 10
	// blockBytes is how long a block gets before it is returned.
	blockBytes = 8 << 10
	// maxYields is how often a reader gives way before it insists.
	maxYields = 64
)

// Freeze begins a Snapshot of all shards at one moment, between two Applies. It
// panics if the last one has not been closed. Cost: each shard is entered once.
func (e *Engine) Freeze() *Snapshot {
	n := &Snapshot{engine: e, frozen: make([]frozen, len(e.shards))}
	if !e.snapshot.CompareAndSwap(nil, n) {
		panic("engine: Freeze while a Snapshot is open")
	}
	for i := range e.shards {
		s := &e.shards[i]
		n.now = max(n.now, s.lockForRead(0))
		n.keys += s.keys
	}
	for i := range e.shards {
		s := &e.shards[i]
		s.epoch++
		n.frozen[i] = frozen{snapshot: n, table: &s.table, dirDepth: s.dirDepth}
		n.frozen[i].changes = [algs]uint64{Log: s.chunks.changes, Lease: s.leases.changes}
		s.frozen = &n.frozen[i]
		s.mu.Unlock()
	}
	return n
}

// Shards is how many shards there are to read.
func (n *Snapshot) Shards() int { return len(n.frozen) }

// Now is the latest time that any shard had seen.
func (n *Snapshot) Now() Instant { return n.now }

// Keys is how many keys there are in all shards, including rested ones.
func (n *Snapshot) Keys() int64 { return n.keys }

// Next appends the next block of a shard to dst. ok is false if there is none, or
// no more after Close. Load says what a block is. first ascends from block to
// block and starts with the number of the shard, as a hash does: blocks are in the
// order of the hashes of their keys, but for the keys of a page that is in two.
//
// A block has 8 to 16 KB; the last of a shard may have less, and one that ends
// with a key of LOG or LEASE more, by all of the key's entries or holders. Cost:
// the shard is entered for one page of about 60 keys at a time, for a
// microsecond, and for one key with entries or holders, about 10 ns for each.
func (n *Snapshot) Next(shard int, dst []byte) (block []byte, first uint64, ok bool) {
	var (
		e     = n.engine
		s     = &e.shards[shard]
		start = len(dst)
	)
	for done := false; !done && len(dst) < start+blockBytes; {
		s.lockYielding()
		f := s.frozen
		if f == nil || f.snapshot != n {
			s.mu.Unlock()
			break
		}
		if len(dst) == start {
			dst = appendBlockHead(dst, n.now)
			first = uint64(shard)<<(64-e.bits) | f.at>>e.bits + uint64(f.part)
		}
		dst, done = s.read(f, dst)
		s.mu.Unlock()
		if len(dst) == start+blockHeadBytes { // there were no records
			dst = dst[:start]
		}
	}
	return dst, first, len(dst) > start
}

// lockAfterOthers takes the shard, letting those in first that wait to decide. A
// mutex by itself goes mostly to whoever has just left it.
func (s *shard) lockYielding() {
	for i := 0; i < maxYields && s.waiting.Load() > 0; i++ {
		runtime.Gosched()
	}
	s.mu.Lock()
}

// read appends what is next, a page or a record with a tail, if there is one, and
// says whether that was the last of the shard.
func (s *shard) read(f *frozen, dst []byte) ([]byte, bool) {
	if f.part == 0 {
		dst = s.readPage(f, dst)
	} else {
		dst = s.readStub(f, dst)
	}
	if f.part++; len(f.stubs) > 0 {
		return dst, false
	}
	f.part = 0
	f.at += 1 << (64 - f.dirDepth)
	if f.at != 0 {
		return dst, false
	}
	s.thaw()
	return dst, true
}

// readPage appends the records without tails of the page that starts with the
// next entry of the dir as it was, if one does, and leaves the stubs of the
// others in f.
func (s *shard) readPage(f *frozen, dst []byte) []byte {
	if p := f.table.pageOf(f.at); p.epoch != s.epoch {
		p.epoch = s.epoch
		dst, f.buffer = s.writer.write(dst, f.buffer[:0], f.table, p)
		f.stubs = f.buffer
		return dst
	}
	image := f.saved(f.image(f.at))
	if image == nil {
		return dst
	}
	n := lengthBytes + int(binary.LittleEndian.Uint32(image))
	f.stubs = image[n:]
	return append(dst, image[lengthBytes:n]...)
}

// readStub appends the record of the next stub, with its tail as it was.
func (s *shard) readStub(f *frozen, dst []byte) []byte {
	record, c, rest := cutStub(f.stubs)
	f.stubs = rest
	dst = append(dst, record...)
	if kept := f.saved(f.tails[c.tailRef()]); kept != nil {
		return append(dst, kept...)
	}
	c.chunks, c.leases = &f.table.chunks, &f.table.leases
	return c.alg().tail.write(dst, &c, f.snapshot.now)
}

// preserve is called before the records of a page, or which hashes they may
// have, are changed. If the page is as it was at the Freeze and has not been
// read, it writes its image. A page that has the shard's epoch is neither.
func (s *shard) preserve(p page) {
	if s.frozen != nil && p.epoch != s.epoch {
		s.writeImage(p)
	}
}

func (s *shard) writeImage(p page) {
	p.epoch = s.epoch
	if p.slots() == 0 {
		return
	}
	f, w := s.frozen, &s.writer
	w.buffer, w.stubs = w.write(append(w.buffer[:0], 0, 0, 0, 0), w.stubs[:0], f.table, p)
	binary.LittleEndian.PutUint32(w.buffer, uint32(len(w.buffer)-lengthBytes))
	_, _, key := s.record(p, 0)
	f.setImage(s.hash(key)>>(64-p.depth)<<(64-p.depth), f.save(w.buffer, w.stubs))
}

// preserveTail is called before the tail of the cell, of a key with hash h, may be
// changed. If it is as it was at the Freeze and has not been read, it keeps a
// copy.
func (s *shard) preserveTail(h uint64) {
	f, c := s.frozen, &s.cell
	ref, tail := c.tailRef(), c.alg().tail
	if h < f.at || tail.lastChange(c) > f.changes[ref.alg] {
		return
	}
	if _, ok := f.tails[ref]; ok {
		return
	}
	if f.tails == nil {
		f.tails = make(map[tailRef]savedRef)
	}
	s.writer.buffer = tail.write(s.writer.buffer[:0], c, f.snapshot.now)
	f.tails[ref] = f.save(s.writer.buffer, nil)
}

func (c *cell) tailRef() tailRef { return tailRef{c.params.Alg, c.state[0]} }

// keep copies two parts of a whole to where the others are.
func (f *frozen) save(a, b []byte) savedRef {
	last, n := len(f.store)-1, lengthBytes+len(a)+len(b)
	if last < 0 || cap(f.store[last])-len(f.store[last]) < n {
		f.store = append(f.store, f.snapshot.memory(n))
		last++
	}
	at := len(f.store[last])
	m := binary.LittleEndian.AppendUint32(f.store[last], uint32(len(a)+len(b)))
	f.store[last] = append(append(m, a...), b...)
	return savedRef{uint32(last + 1), uint32(at)}
}

// kept is what was kept, nil for the zero keptRef.
func (f *frozen) saved(r savedRef) []byte {
	if r.store == 0 {
		return nil
	}
	m := f.store[r.store-1][r.at:]
	return m[lengthBytes:][:binary.LittleEndian.Uint32(m)]
}

// setImage says where the image of the page is that starts with h.
func (f *frozen) setImage(h uint64, r savedRef) {
	if f.images == nil {
		f.images = make([]*imageIndex, (1<<f.dirDepth-1)>>imageIndexBits+1)
	}
	i := h >> (64 - f.dirDepth)
	x := &f.images[i>>imageIndexBits]
	if *x == nil {
		*x = new(imageIndex)
	}
	(*x)[i%(1<<imageIndexBits)] = r
}

// image is where the image of the page is that starts with h, if there is one.
func (f *frozen) image(h uint64) (r savedRef) {
	i := h >> (64 - f.dirDepth)
	if f.images == nil || f.images[i>>imageIndexBits] == nil {
		return r
	}
	return f.images[i>>imageIndexBits][i%(1<<imageIndexBits)]
}

// memory is some for images, the next of which has so many bytes.
func (n *Snapshot) memory(image int) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.spareBuffers) - 1; last >= 0 && image <= storeBytes {
		m := n.spareBuffers[last]
		n.spareBuffers = n.spareBuffers[:last]
		return m
	}
	image = max(image, storeBytes)
	n.bytes.Add(int64(image))
	return make([]byte, 0, image)
}

// setTableAside keeps what a shard has, which is about to be dropped as a whole.
func (s *shard) detachTable() {
	f := s.frozen
	if f == nil || f.table != &s.table {
		return
	}
	aside := s.table
	f.table = &aside
	f.snapshot.bytes.Add(aside.bytes())
}

// thaw ends the reading of a shard.
func (s *shard) thaw() {
	f := s.frozen
	n := f.snapshot
	s.frozen, s.writer = nil, pageWriter{}
	n.mu.Lock()
	for _, m := range f.store {
		if cap(m) == storeBytes {
			n.spareBuffers = append(n.spareBuffers, m[:0])
		} else {
			n.bytes.Add(-int64(cap(m)))
		}
	}
	n.mu.Unlock()
	if f.table != &s.table {
		n.bytes.Add(-f.table.bytes())
	}
	*f = frozen{}
}

// Close ends the reading, wherever it is, and gives its memory back. It may be
// called at any time and more than once.
func (n *Snapshot) Close() {
	for i := range n.frozen {
		s := &n.engine.shards[i]
		s.mu.Lock()
		if s.frozen != nil && s.frozen.snapshot == n {
			s.thaw()
		}
		s.mu.Unlock()
	}
	n.engine.snapshot.CompareAndSwap(n, nil)
}
