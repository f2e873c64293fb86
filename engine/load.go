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
// whole, or not at all, unless there is a key that the engine has already: then an
// error is returned, and some keys may have been added.
// Blocks may be loaded by many at once and in any order; it is fastest if each
// of them goes through consecutive blocks. Cost: that of about 100 ns a key.
func (e *Engine) Load(block []byte) error {
	r := blockReaders.Get().(*blockReader)
	defer blockReaders.Put(r)
	if err := r.read(block, e.key); err != nil {
		return fmt.Errorf("load a block of a snapshot: %w", err)
	}
	byHash := func(x, y blockRecord) int { return cmp.Compare(x.hash, y.hash) }
	if !slices.IsSortedFunc(r.records, byHash) {
		slices.SortFunc(r.records, byHash)
	}
	for records := r.records; len(records) > 0; {
		number, n := records[0].hash>>(64-e.bits), 1
		for n < len(records) && records[n].hash>>(64-e.bits) == number {
			n++
		}
		if err := e.shards[number].loadRecords(r, records[:n]); err != nil {
			return fmt.Errorf("load a block of a snapshot: %w", err)
		}
		records = records[n:]
	}
	return nil
}

// loadRecords adds records of this shard that are sorted by their hashes.
func (s *shard) loadRecords(r *blockReader, records []blockRecord) error {
	s.lock(r.now)
	defer s.unlock()
	s.reserve(r, records)
	c := &s.cell
	for i := range records {
		x := &records[i]
		h := x.hash << s.bits
		if p := s.pageOf(h); p.slots() > 0 && p.tagAt(p.slots()-1) >= tag(h, p.depth) {
			if _, _, found := s.find(h, x.key); found {
				return errors.New("it has a key that is there already")
			}
		}
		k := &r.params[x.params]
		c.params, c.past, c.state = k.params, k.past, x.state
		if t := c.alg().tail; t != nil {
			t.read(x.tail, &c.params, r.now, c)
		}
		s.insert(h, x.key, r.now.after(c.limiter().until(c, r.now, 0)))
	}
	return nil
}

const (
	// reserveFrom is how many neighbours show which page they are to have.
	reserveFrom = 16
	// reserveDepth bounds the pages that they can call for: 2^24 of 60 keys.
	reserveDepth = 24
)

// reserve makes pages of the right size at once for records that come next to one
// another, where there are none yet. That saves most of the splitting and growing.
func (s *shard) reserve(r *blockReader, records []blockRecord) {
	if len(records) < reserveFrom {
		return
	}
	need := 0
	for i := range records {
		x := &records[i]
		need += slotBytes + recordBytes(r.params[x.params].params.alg().words, len(x.key))
	}
	first := records[0].hash << s.bits
	depth := bits.LeadingZeros64(first ^ records[len(records)-1].hash<<s.bits)
	if depth > reserveDepth {
		return
	}
	if need > pageSizes[splitSize] {
		half := 1
		for records[half].hash<<s.bits<<depth>>63 == 0 {
			half++
		}
		s.reserve(r, records[:half])
		s.reserve(r, records[half:])
		return
	}
	p := s.pageOf(first)
	for p.slots() == 0 && int(p.depth) < depth {
		s.addSibling(first, p)
		p = s.pageOf(first)
	}
	if p.slots() == 0 {
		s.preserve(p)
		s.slab.resize(p, classFor(need))
	}
}
