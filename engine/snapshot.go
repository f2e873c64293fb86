package engine

import "runtime/debug"

const (
	// The reader should hurry if images take more than the memory of keys divided by
	// crowdedShare.
	crowdedShare = 16
	// crowdedFrom is the least number of bytes of images that are many: each shard has a
	// buffer for its first image.
	crowdedFrom = 1 << 20
)

// Crowded reports whether the images need much memory, so that the reader should not pause:
// the longer it takes, the more pages change before they are read. Cost: a few loads.
func (n *Snapshot) Crowded() bool {
	return n.bytes.Load() > max(crowdedFrom, n.engine.memory.used.Load()/crowdedShare)
}

// Close returns the memory of images to the system from collectFrom bytes on: the next
// collection by itself comes when the heap has grown by half, and keeps them.
const collectFrom = 16 << 20

// Close ends the reading at any point, and releases its memory. It may be called at any
// time and more than once. Cost: after many images, a garbage collection.
func (n *Snapshot) Close() {
	for i := range n.frozen {
		s := &n.engine.shards[i]
		s.mu.Lock()
		if s.frozen != nil && s.frozen.of == &n.images {
			s.thaw()
		}
		s.mu.Unlock()
	}
	if !n.engine.snapshot.CompareAndSwap(n, nil) {
		return
	}
	n.mu.Lock()
	n.spareBuffers = nil
	n.mu.Unlock()
	if n.bytes.Load() > collectFrom {
		debug.FreeOSMemory()
	}
}

// Freeze begins a [Snapshot] of all shards at the same moment, between two Applies. It panics if
// the previous Snapshot has not been closed. Cost: each shard is locked once.
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
		n.frozen[i] = frozen{of: &n.images, table: &s.table, dirDepth: s.dirDepth, version: s.version(),
			values: s.values.Freeze()}
		for a := range algorithms {
			if t := algorithms[a].copied; t != nil {
				n.frozen[i].changes[a] = t.changes(&s.cell)
			}
		}
		n.frozen[i].changes[algs] = s.holds.changes
		s.frozen = &n.frozen[i]
	}
	n.told = e.moments.last.Load()
	sources := e.sources.texts(nil)
	n.texts = e.documents.texts(sources)
	switch version := &n.frozen[0].version; {
	case len(n.texts) > len(sources):
		*version = max(*version, blockTexts)
	case len(sources) > 0:
		*version = max(*version, blockPlain)
	}
	for i := range e.shards {
		e.shards[i].mu.Unlock()
	}
	return n
}

// Shards returns the number of shards to read.
func (n *Snapshot) Shards() int { return len(n.frozen) }

// Now returns the latest time that any shard had seen.
func (n *Snapshot) Now() Instant { return n.now }

// Told returns the last time that a call was told, in microseconds since the Unix epoch, or a
// later time, for Engine.SetTold.
func (n *Snapshot) Told() int64 { return n.told }

// Keys returns the number of keys in all shards, including expired keys.
func (n *Snapshot) Keys() int64 { return n.keys }

// Next appends the next block of a shard to dst, in the format that Load reads. ok is
// false at the end, and after Close. first ascends from block to block and starts with
// the number of the shard, as a hash does: blocks are in the order of the hashes of their
// keys, except for the keys of a page that is in two blocks.
//
// A block has 8 to 16 KB. The last of a shard may be shorter, and a block that ends with a
// key of LOG or LEASE is longer by all of the key's entries or holders. Cost: the shard is
// locked for a page of about 60 keys at a time, for a microsecond, and for one key with
// entries or holders, about 10 ns for each of them.
func (n *Snapshot) Next(shard int, dst []byte) (block []byte, first uint64, ok bool) {
	var (
		e     = n.engine
		s     = &e.shards[shard]
		start = len(dst)
	)
	for done := false; !done && len(dst) < start+blockBytes; {
		s.lockYielding()
		f := s.frozen
		if f == nil || f.of != &n.images {
			s.mu.Unlock()
			break
		}
		if len(dst) == start {
			dst = appendBlockHead(dst, f.version, n.now)
			first = uint64(shard)<<(64-e.bits) | f.at>>e.bits + uint64(f.part)
		}
		if shard == 0 && len(n.texts) > 0 {
			dst = n.texts[0].appendTo(dst)
			n.texts = n.texts[1:]
			f.part++
		} else {
			dst, done = s.read(f, dst)
		}
		s.mu.Unlock()
		if len(dst) == start+blockHeadBytes { // no records were appended
			dst = dst[:start]
		}
	}
	return dst, first, len(dst) > start
}

// A Snapshot is the state of an engine at the moment of a Freeze. It can be read once,
// while the engine continues. A page of the table that is about to change is first written
// into an image, unless it has been read; the reader takes unchanged pages from the table
// and changed pages from their images. The entries of a log, and the holders of a lease,
// are copied at the first change of any of them; contents of plain values page by page.
//
// Concurrency: each shard is read by one goroutine; different shards may be read in
// parallel. Cost: the images need as much memory as the records of the pages that change
// before they are read, beyond the bound of the engine: see Stats.ImageBytes. If all keys
// are in use, that doubles their memory.
type Snapshot struct {
	engine *Engine
	images
	told   int64 // microseconds, see moments
	keys   int64
	frozen []frozen // by shard
	// texts are those that are not read yet. They are read before the keys of shard 0, by
	// its reader.
	texts []blockText
}
