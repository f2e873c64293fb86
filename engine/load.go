package engine

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"limitsrv/values"
)

// blockReaders is a pool of block readers for Load.
var blockReaders = sync.Pool{New: func() any { return &blockReader{checked: values.New([16]byte{})} }}

// Load adds all keys of a block of a Snapshot, and advances their shards to its time. It
// ignores the memory bound. The block may be of an engine with other Shards, and with
// another Seed, except for its holders: they are found by their ids only in an engine
// with the same Seed.
//
// The whole block is checked, for any bytes, and is added completely or not at all. The
// exception is a key that the engine already has: then Load returns an error, and some
// keys may have been added. Concurrency: blocks may be loaded concurrently and in any
// order; it is fastest if each goroutine loads consecutive blocks. Cost: about 100 ns a
// key.
func (e *Engine) Load(block []byte) error {
	r := blockReaders.Get().(*blockReader)
	defer blockReaders.Put(r)
	if err := r.read(block, e.key); err != nil {
		return fmt.Errorf("load snapshot block: %w", err)
	}
	if err := e.documents.restore(r.documents); err != nil {
		return fmt.Errorf("load snapshot block: %w", err)
	}
	if err := e.sources.restore(r.sources); err != nil {
		return fmt.Errorf("load snapshot block: %w", err)
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
			return fmt.Errorf("load snapshot block: %w", err)
		}
		records = records[n:]
	}
	return nil
}

// loadRecords adds records of this shard, sorted by their hashes.
func (s *shard) loadRecords(r *blockReader, records []blockRecord) error {
	s.lock(r.now)
	defer s.unlock()
	s.reserve(r, records)
	c := &s.cell
	for i := range records {
		x := &records[i]
		k := &r.params[x.params]
		h := tailored(x.hash, s.bits, k.db)
		if p := s.pageOf(h); p.slots() > 0 && p.tagAt(p.slots()-1) >= tag(h, p.depth) {
			if _, _, found := s.find(h, x.key); found {
				return errors.New("duplicate key")
			}
		}
		c.params, c.past, c.state = k.params, k.past, x.state
		if t := c.alg().tail; t != nil {
			t.read(x.tail, r.now, c)
		}
		if c.params.Alg == Box && loadBox(c).end > r.now {
			s.noteClosed(h, x.key)
		}
		s.insert(h, x.key, r.now.after(c.meter().until(c, r.now, 0)))
	}
	return nil
}

const (
	// reserveFrom is the number of consecutive records from which pages are reserved.
	reserveFrom = 16
	// reserveDepth bounds the depth of reserved pages: 2^24 pages of 60 keys.
	reserveDepth = 24
)

// reserve creates pages of the right size in advance for consecutive records, if their
// page is empty. That avoids most splits and growth.
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
