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
// unchanged pages in the table and the others in their images.
//
// Each shard is read by one goroutine; several may read different shards at once.
// The images take as much memory as the records of the pages that are changed
// before they are read, beyond the bound of the engine: see Stats.ImageBytes.
type Snapshot struct {
	engine *Engine
	now    Instant
	keys   int64
	frozen []frozen     // by shard
	bytes  atomic.Int64 // of images and tables set aside

	mu    sync.Mutex
	spare [][]byte // memory for images that no shard uses
}

// frozen is what a shard keeps for a Snapshot until it has been read. It is under
// the shard's lock.
type frozen struct {
	snapshot *Snapshot
	table    *table // of the shard, or what it had before a Flush
	at       uint64 // the hash that the reader goes on with
	dirDepth uint8  // as it was
	images   []*imageIndex
	store    [][]byte // the images, each the length of a section and the section
}

// An imageIndex is where the images are of the pages that start with some
// consecutive entries of the dir as it was, zero for none.
type imageIndex [1 << imageIndexBits]imageRef

type imageRef struct {
	store uint32 // index of store, counted from 1
	at    uint32
}

const (
	imageIndexBits  = 9
	imageHeadBytes  = 4
	imageStoreBytes = 64 << 10
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
		n.now = max(n.now, s.look(0))
		n.keys += s.keys
	}
	for i := range e.shards {
		s := &e.shards[i]
		s.epoch++
		n.frozen[i] = frozen{snapshot: n, table: &s.table, dirDepth: s.dirDepth}
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
// no more after Close. Blocks are in the order of the keys' hashes: first is a
// hash not above any in the block, above all in the block before, and starts with
// the number of the shard. Load says what a block is.
//
// A block has 8 to 16 KB; the last of a shard may have less, and one with keys
// of LOG or LEASE more. Cost: the shard is entered for one page of about 60 keys
// at a time, about a microsecond, and as much as it takes to copy them for
// entries and holders.
func (n *Snapshot) Next(shard int, dst []byte) (block []byte, first uint64, ok bool) {
	var (
		e     = n.engine
		s     = &e.shards[shard]
		start = len(dst)
	)
	for done := false; !done && len(dst) < start+blockBytes; {
		s.lockAfterOthers()
		f := s.frozen
		if f == nil || f.snapshot != n {
			s.mu.Unlock()
			break
		}
		if len(dst) == start {
			dst = appendBlockHead(dst, n.now)
			first = uint64(shard)<<(64-e.bits) | f.at>>e.bits
		}
		dst, done = s.readPage(f, dst)
		s.mu.Unlock()
		if len(dst) == start+blockHeadBytes { // there were no records
			dst = dst[:start]
		}
	}
	return dst, first, len(dst) > start
}

// lockAfterOthers takes the shard, letting those in first that wait to decide. A
// mutex by itself goes mostly to whoever has just left it.
func (s *shard) lockAfterOthers() {
	for i := 0; i < maxYields && s.waiting.Load() > 0; i++ {
		runtime.Gosched()
	}
	s.mu.Lock()
}

// readPage appends the section of the page that starts with the next entry of the
// dir as it was, if one does and has records, and says whether it was the last
// entry.
func (s *shard) readPage(f *frozen, dst []byte) ([]byte, bool) {
	if p := f.table.pageOf(f.at); p.epoch != s.epoch {
		p.epoch = s.epoch
		if p.slots > 0 {
			dst = s.section.write(dst, f.table, p, f.snapshot.now)
		}
	} else {
		dst = append(dst, f.image(f.at)...)
	}
	f.at += 1 << (64 - f.dirDepth)
	if f.at == 0 {
		s.thaw()
		return dst, true
	}
	return dst, false
}

// preserve is called before the records of a page, or which hashes they may
// have, are changed. If the page is as it was at the Freeze and has not been
// read, it writes its image. A page that has the shard's epoch is neither.
func (s *shard) preserve(p *page) {
	if s.frozen != nil && p.epoch != s.epoch {
		s.writeImage(p)
	}
}

func (s *shard) writeImage(p *page) {
	p.epoch = s.epoch
	if p.slots == 0 {
		return
	}
	f, w := s.frozen, &s.section
	w.buf = w.write(append(w.buf[:0], 0, 0, 0, 0), f.table, p, f.snapshot.now)
	binary.LittleEndian.PutUint32(w.buf, uint32(len(w.buf)-imageHeadBytes))
	_, _, key := s.record(p, 0)
	*f.ref(s.hash(key) >> (64 - p.depth) << (64 - p.depth)) = f.keep(w.buf)
}

// keep copies an image to where the others are.
func (f *frozen) keep(image []byte) imageRef {
	last := len(f.store) - 1
	if last < 0 || cap(f.store[last])-len(f.store[last]) < len(image) {
		f.store = append(f.store, f.snapshot.memory(len(image)))
		last++
	}
	at := len(f.store[last])
	f.store[last] = append(f.store[last], image...)
	return imageRef{uint32(last + 1), uint32(at)}
}

// ref is where it stands where the image of the page is that starts with h.
func (f *frozen) ref(h uint64) *imageRef {
	if f.images == nil {
		f.images = make([]*imageIndex, (1<<f.dirDepth-1)>>imageIndexBits+1)
	}
	i := h >> (64 - f.dirDepth)
	x := &f.images[i>>imageIndexBits]
	if *x == nil {
		*x = new(imageIndex)
	}
	return &(*x)[i%(1<<imageIndexBits)]
}

// image is the section of the page that starts with h, or nil.
func (f *frozen) image(h uint64) []byte {
	i := h >> (64 - f.dirDepth)
	if f.images == nil || f.images[i>>imageIndexBits] == nil {
		return nil
	}
	r := f.images[i>>imageIndexBits][i%(1<<imageIndexBits)]
	if r.store == 0 {
		return nil
	}
	image := f.store[r.store-1][r.at:]
	return image[imageHeadBytes:][:binary.LittleEndian.Uint32(image)]
}

// memory is some for images, the next of which has so many bytes.
func (n *Snapshot) memory(image int) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if last := len(n.spare) - 1; last >= 0 && image <= imageStoreBytes {
		m := n.spare[last]
		n.spare = n.spare[:last]
		return m
	}
	image = max(image, imageStoreBytes)
	n.bytes.Add(int64(image))
	return make([]byte, 0, image)
}

// setTableAside keeps what a shard has, which is about to be dropped as a whole.
func (s *shard) setTableAside() {
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
	s.frozen, s.section = nil, section{}
	n.mu.Lock()
	for _, m := range f.store {
		if cap(m) == imageStoreBytes {
			n.spare = append(n.spare, m[:0])
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
