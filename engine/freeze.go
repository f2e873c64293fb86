package engine

import (
	"encoding/binary"
	"runtime"

	"limitsrv/engine/values"
)

// frozen is the state of a shard for a Snapshot until all of it is read. It is guarded by
// the shard's lock.
type frozen struct {
	of       *images          // of the Snapshot
	table    *table           // of the shard, or its table before a Flush
	values   *values.Store    // of table at the Freeze
	at       uint64           // the hash for the reader to continue at
	dirDepth uint8            // at the Freeze
	version  byte             // of its blocks
	part     int              // parts read so far at that hash: texts, the page, its stubs
	paged    bool             // the page at that hash is read, without its stubs
	stubs    []byte           // of that page, to be read
	buffer   []byte           // for the stubs of a page without an image
	changes  [algs + 1]uint64 // of tails, at the Freeze; the last of holds
	images   []*imageIndex
	deep     map[uint64]savedRef // images of pages below the directory, see isDeep
	tails    map[tailRef]savedRef
	store    [][]byte // saved data, each with its length in front
}

// A tailRef identifies the tail of a record at the Freeze.
type tailRef struct {
	alg  Alg // algs for holds
	word uint64
}

// A savedRef locates saved data: an index of store, counted from 1, and an offset. An
// image is the length of the records without tails, these records, and stubs.
type savedRef struct{ store, at uint32 }

// An imageIndex locates the images of the pages that start at consecutive entries of the
// dir at the Freeze; zero is no image.
type imageIndex [1 << imageIndexBits]savedRef

const (
	imageIndexBits = 9
	lengthBytes    = 4
	storeBytes     = 64 << 10
	// blockBytes is the least length of a block that is returned before the end.
	blockBytes = 8 << 10
	// maxYields bounds the yields of a reader before it locks.
	maxYields = 64
)

// lockYielding locks the shard after yielding to callers of lock, because a mutex mostly
// goes to the goroutine that has just released it.
func (s *shard) lockYielding() {
	for i := 0; i < maxYields && s.waiting.Load() > 0; i++ {
		runtime.Gosched()
	}
	s.mu.Lock()
}

// read appends the next part, a page or a record with a tail, if any, and reports whether
// it was the last of the shard.
func (s *shard) read(f *frozen, dst []byte) ([]byte, bool) {
	if !f.paged {
		dst = s.readPage(f, dst)
		f.paged = true
	} else {
		dst = s.readStub(f, dst)
	}
	if f.part++; len(f.stubs) > 0 {
		return dst, false
	}
	f.part, f.paged = 0, false
	// Meanwhile no page below the directory is merged, so present pages are at least as deep as
	// then.
	if f.at = hashAfter(f.at, max(f.dirDepth, f.table.headOf(f.at).depth)); f.at != 0 {
		return dst, false
	}
	s.thaw()
	return dst, true
}

// readPage appends the records without tails of the page that started at f.at at the Freeze, if
// there was a page. It stores the stubs of the page's other records in f.
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

// readStub appends the record of the next stub, with its tail at the Freeze.
func (s *shard) readStub(f *frozen, dst []byte) []byte {
	record, c, rest := cutStub(f.stubs)
	f.stubs = rest
	dst = append(dst, record...)
	if c.copied() != nil {
		if kept := f.saved(f.tails[c.tailRef()]); kept != nil {
			return append(dst, kept...)
		}
	}
	c.chunks, c.leases, c.values = &f.table.chunks, &f.table.leases, f.values
	if c.past.held != 0 {
		c.holds = f.table.holds.of(&c)
	}
	return c.tail().write(dst, &c, f.of.now)
}

// preserve must be called before the records of a page, or the range of its hashes,
// change. It writes the page's image if the page has not changed since the Freeze and has
// not been read. A page with the shard's epoch needs no image.
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
	f.setImage(s.hash(p.head(p.offset(0)).db(), key)>>(64-p.depth)<<(64-p.depth), f.save(w.buffer, w.stubs))
}

// preserveTail must be called before the tail of the cell, of a key with hash h, may
// change. It saves a copy if the tail has not changed since the Freeze and has not been
// read.
func (s *shard) preserveTail(h uint64) {
	f, c := s.frozen, &s.cell
	ref, tail := c.tailRef(), c.copied()
	if h < f.at || tail.lastChange(c) > f.changes[ref.alg] {
		return
	}
	if _, ok := f.tails[ref]; ok {
		return
	}
	if f.tails == nil {
		f.tails = make(map[tailRef]savedRef)
	}
	s.writer.buffer = c.tail().write(s.writer.buffer[:0], c, f.of.now)
	f.tails[ref] = f.save(s.writer.buffer, nil)
}

func (c *cell) tailRef() tailRef {
	if c.past.held != 0 {
		return tailRef{algs, holding{}.location(c)}
	}
	return tailRef{c.params.Alg, c.alg().copied.location(c)}
}

// save copies the concatenation of a and b into the store.
func (f *frozen) save(a, b []byte) savedRef {
	last, n := len(f.store)-1, lengthBytes+len(a)+len(b)
	if last < 0 || cap(f.store[last])-len(f.store[last]) < n {
		f.store = append(f.store, f.of.memory(n))
		last++
	}
	at := len(f.store[last])
	m := binary.LittleEndian.AppendUint32(f.store[last], uint32(len(a)+len(b)))
	f.store[last] = append(append(m, a...), b...)
	return savedRef{uint32(last + 1), uint32(at)}
}

// saved returns saved data, nil for the zero savedRef.
func (f *frozen) saved(r savedRef) []byte {
	if r.store == 0 {
		return nil
	}
	m := f.store[r.store-1][r.at:]
	return m[lengthBytes:][:binary.LittleEndian.Uint32(m)]
}

// isDeep reports whether a page that starts at h was below the directory at the Freeze: it started
// within an entry of dir.
func (f *frozen) isDeep(h uint64) bool { return h<<f.dirDepth != 0 }

// setImage sets the location of the image of the page that starts with h.
func (f *frozen) setImage(h uint64, r savedRef) {
	if f.isDeep(h) {
		if f.deep == nil {
			f.deep = make(map[uint64]savedRef)
		}
		f.deep[h] = r
		return
	}
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

// image returns the location of the image of the page that starts with h, if any.
func (f *frozen) image(h uint64) (r savedRef) {
	if f.isDeep(h) {
		return f.deep[h]
	}
	i := h >> (64 - f.dirDepth)
	if f.images == nil || f.images[i>>imageIndexBits] == nil {
		return r
	}
	return f.images[i>>imageIndexBits][i%(1<<imageIndexBits)]
}

// detachTable keeps the shard's table for the Snapshot, before the shard drops it.
func (s *shard) detachTable() {
	f := s.frozen
	if f == nil || f.table != &s.table {
		return
	}
	aside := s.table
	f.table = &aside
	f.of.bytes.Add(aside.bytes())
}

// thaw ends the reading of a shard.
func (s *shard) thaw() {
	f := s.frozen
	n := f.of
	s.frozen, s.writer = nil, pageWriter{}
	f.table.values.Thaw()
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
