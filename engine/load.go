package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
)

// blockReaders are those that no Load uses.
var blockReaders = sync.Pool{New: func() any { return new(blockReader) }}

// Load adds all keys of a block of a Snapshot, and lets their shards see its
// time. The bound is not looked at. The block may be of an engine of another
// number of Shards, and of another Seed, but for its holders: these are known by
// their ids only to an engine of the same Seed.
//
// All of the block is checked, whatever bytes it is; what is in it is added
// whole, or not at all, unless there is a key that the engine has already.
// Blocks may be loaded by many at once and in any order; it is fastest if each
// of them goes through consecutive blocks. Cost: that of about 100 ns a key.
func (e *Engine) Load(block []byte) error {
	r := blockReaders.Get().(*blockReader)
	defer blockReaders.Put(r)
	if err := r.read(block, e.key); err != nil {
		return fmt.Errorf("load a block of a snapshot: %w", err)
	}
	from := 0
	for _, to := range r.sections {
		if err := e.loadSection(r, r.records[from:to]); err != nil {
			return fmt.Errorf("load a block of a snapshot: %w", err)
		}
		from = to
	}
	return nil
}

// loadSection adds the records of a section, which are those of a few pages if
// the engine is as the one was that they come from.
func (e *Engine) loadSection(r *blockReader, records []loaded) error {
	byHash := func(x, y loaded) int { return cmp.Compare(x.hash, y.hash) }
	if !slices.IsSortedFunc(records, byHash) {
		slices.SortFunc(records, byHash)
	}
	for len(records) > 0 {
		number, n := records[0].hash>>(64-e.bits), 1
		for n < len(records) && records[n].hash>>(64-e.bits) == number {
			n++
		}
		if err := e.shards[number].loadRecords(r, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// loadRecords adds records of this shard that are sorted by their hashes.
func (s *shard) loadRecords(r *blockReader, records []loaded) error {
	s.enter(r.now)
	defer s.leave()
	s.reserve(r, records)
	c := &s.cell
	for i := range records {
		x := &records[i]
		h := x.hash << s.bits
		if p := s.pageOf(h); p.slots > 0 && p.tagAt(p.slots-1) >= tag(h, p.depth) {
			if _, found := s.find(h, x.key); found {
				return errors.New("it has a key that is there already")
			}
		}
		c.params, c.state = r.params[x.params], x.state
		if t := c.alg().tail; t != nil {
			t.read(x.tail, &c.params, r.now, c)
		}
		s.insert(h, x.key)
	}
	return nil
}

// reserveFrom is how many neighbours show which page they are to have.
const reserveFrom = 16

// reserve makes a page for records that come next to one another, of the right
// size at once, if there are none yet where they belong. That saves most of the
// splitting and growing.
func (s *shard) reserve(r *blockReader, records []loaded) {
	if len(records) < reserveFrom {
		return
	}
	first, last := records[0].hash<<s.bits, records[len(records)-1].hash<<s.bits
	depth := uint8(min(bits.LeadingZeros64(first^last), maxDepth))
	p := s.pageOf(first)
	for p.slots == 0 && p.depth < depth {
		s.part(first, p)
		p = s.pageOf(first)
	}
	if p.slots > 0 {
		return
	}
	need := 0
	for i := range records {
		x := &records[i]
		need += slotBytes + recordBytes(algorithms[r.params[x.params].Alg].words, len(x.key))
	}
	if need <= pageSizes[splitSize] {
		s.preserve(p)
		s.resize(p, classFor(need))
	}
}
