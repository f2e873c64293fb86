package engine

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"limitsrv/engine/siphash"
	"limitsrv/engine/values"
)

// blockReaders is a pool of block readers for Load.
var blockReaders = sync.Pool{New: func() any { return &blockReader{checked: values.New([16]byte{})} }}

// Load adds all keys of a block of a [Snapshot], and advances their shards to its time. It
// ignores the memory bound. The block may be of an engine with other Shards, and with
// another Seed, except for its holders: they are found by their ids only in an engine with
// the same Seed.
//
// The whole block is checked, for any bytes, and is added completely or not at all. The
// exception is a key that the engine already has: then Load returns an error, and some keys
// may have been added. Concurrency: blocks may be loaded concurrently and in any order; it
// is fastest if each goroutine loads consecutive blocks. Cost: about 100 ns a key in empty
// pages.
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
	if r.unsorted {
		slices.SortFunc(r.records, func(x, y blockRecord) int { return cmp.Compare(x.hash, y.hash) })
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

// CheckBlock returns an error if Load could not add the block to an empty engine. The block may be
// any bytes. Concurrency: any number of goroutines may call it. Cost: less than Load.
func CheckBlock(block []byte) error {
	r := blockReaders.Get().(*blockReader)
	defer blockReaders.Put(r)
	if err := r.read(block, siphash.KeyOf([16]byte{})); err != nil {
		return fmt.Errorf("snapshot block: %w", err)
	}
	return nil
}

// loadRecords adds records of this shard, sorted by their hashes: most to pages of their own, in
// one go, and then the rest.
func (s *shard) loadRecords(r *blockReader, records []blockRecord) error {
	s.lock(r.now)
	defer s.unlock()
	r.left, r.needs = r.left[:0], append(r.needs[:0], 0)
	for i := range records {
		x := &records[i]
		r.needs = append(r.needs, r.needs[i]+slotBytes+recordBytes(int(r.params[x.params].words()), int(x.end-x.key)))
	}
	s.loadPages(r, records, r.needs)
	for i := range r.left {
		x := &r.left[i]
		k, key := &r.params[x.params], r.key(x)
		h := tailored(x.hash, s.bits, k.db)
		if p := s.pageOf(h); p.slots() > 0 && p.tagAt(p.slots()-1) >= tag(h, p.depth) {
			if _, _, found := s.find(h, key); found {
				return errors.New("duplicate key")
			}
		}
		s.insert(h, key, s.loadCell(r, x, h))
	}
	return nil
}

// loadCell puts a record into the cell, with its tail into the shard, and returns its expiry.
func (s *shard) loadCell(r *blockReader, x *blockRecord, h uint64) (expiry Instant) {
	c, k := &s.cell, &r.params[x.params]
	c.params, c.past, c.state = k.params, k.past, state{}
	if t := c.tail(); t == nil {
		takeState(r.block[x.words:], c.words(), &c.state)
		expiry = x.expiry
	} else {
		t.read(r.block[x.end:], r.now, c)
		expiry = r.now.after(c.meter().until(c, r.now, 0))
	}
	if c.params.Alg == Box && loadBox(c).end > r.now {
		s.noteClosed(h, r.key(x))
	}
	return expiry
}

const (
	// pageFrom is the least number of consecutive records that get a page of their own.
	pageFrom = 16
	// loadDepth bounds the depth of these pages: 2^24 pages of 60 keys.
	loadDepth = 24
)

// loadPages makes pages of the right size for consecutive records, if their pages are empty. That
// avoids most splits and growth, and the search for a place. It appends the other records to left.
// needs are the bytes needed for the records before each record, and for all of them, and any
// number more.
func (s *shard) loadPages(r *blockReader, records []blockRecord, needs []int) {
	n := len(records)
	first := records[0].hash << s.bits
	depth := bits.LeadingZeros64(first ^ records[n-1].hash<<s.bits)
	if n < pageFrom || depth > loadDepth {
		r.left = append(r.left, records...)
		return
	}
	need := needs[n] - needs[0]
	if need > pageSizes[splitSize] {
		half := sort.Search(n, func(i int) bool { return records[i].hash<<s.bits<<depth>>63 != 0 })
		s.loadPages(r, records[:half], needs[:half+1])
		s.loadPages(r, records[half:], needs[half:])
		return
	}
	p := s.pageOf(first)
	for p.slots() == 0 && int(p.depth) < depth {
		s.addSibling(first, p)
		p = s.pageOf(first)
	}
	if p.slots() > 0 || int(p.depth) > depth || equalHashes(records) {
		r.left = append(r.left, records...)
		return
	}
	s.preserve(p)
	s.loadPage(r, s.slab.resize(p, classFor(need)), records)
}

// equalHashes reports whether two of sorted records have the same hash: they may have the same
// key.
func equalHashes(records []blockRecord) bool {
	for i := 1; i < len(records); i++ {
		if records[i].hash == records[i-1].hash {
			return true
		}
	}
	return false
}

// loadPage adds records with different hashes to their page, which is empty and has enough space.
func (s *shard) loadPage(r *blockReader, p page, records []blockRecord) {
	c, soonest := &s.cell, latest
	for i := 0; i < len(records); {
		if n := r.alike(records[i:]); n > 0 {
			soonest = min(soonest, s.loadAlike(r, p, records[i:i+n]))
			i += n
			continue
		}
		x := &records[i]
		k := &r.params[x.params]
		h := tailored(x.hash, s.bits, k.db)
		soonest = min(soonest, s.loadCell(r, x, h))
		words := c.words()
		at := p.add(i, tag(h, p.depth), words, r.key(x))
		if c.past.held != 0 {
			s.holds.keep(c)
			soonest = min(soonest, c.holds.least)
		}
		p.store(at, headOf(s.params.retain(c), k.db), words, &c.state)
		s.count(k.db, 1)
		i++
	}
	s.noteExpiry(p, soonest, soonest)
	s.moves += uint32(len(records))
}

// alike returns the number of the first records that are alike. They have the same parameters,
// of a limit without a tail, and the same bytes after the head in a page as in the block.
func (r *blockReader) alike(records []blockRecord) (n int) {
	params := records[0].params
	a := r.params[params].params.alg()
	if a.limiter == nil || a.tail != nil || r.params[params].past.held != 0 {
		return 0
	}
	for n < len(records) && records[n].params == params {
		x := &records[n]
		if paramBytes+int(x.end-x.words) != recordBytes(a.words, int(x.end-x.key)) {
			break // the length of its key has more bytes than needed
		}
		n++
	}
	return n
}

// loadAlike is loadPage for records that are alike and follow the records of their page. It
// copies their bytes, and returns the first expiry.
func (s *shard) loadAlike(r *blockReader, p page, records []blockRecord) (soonest Instant) {
	var (
		c, k    = &s.cell, &r.params[records[0].params]
		slot, n = p.slots(), len(records)
	)
	c.params, c.past = k.params, k.past
	id := s.params.retain(c)
	s.params.list[id].keys += int64(n - 1)
	head, low := headOf(id, k.db), int(p.low)
	soonest = latest
	for i := range records {
		x := &records[i]
		record := r.block[x.words:x.end]
		low -= paramBytes + len(record)
		binary.LittleEndian.PutUint32(p.buf[low:], uint32(head))
		copy(p.buf[low+paramBytes:], record)
		p.setSlot(slot+i, tag(tailored(x.hash, s.bits, k.db), p.depth), low)
		soonest = min(soonest, x.expiry)
	}
	p.count, p.low = uint16(slot+n), uint32(low)
	s.count(k.db, int64(n))
	return soonest
}
