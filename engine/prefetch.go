package engine

const (
	// prefetchBytes is about the length of a record: it may end on the next cache line.
	prefetchBytes = 40
	// cachedBytes is the largest memory of keys that the processor's caches hold as a
	// whole.
	cachedBytes = 256 << 10
)

// isCached reports whether the keys are so few that a prefetch would cost more than it saves.
func (e *Engine) isCached() bool { return e.memory.used.Load() <= cachedBytes }

// prefetch reads the memory for ops on this shard, at most prefetchOps.
func (s *shard) prefetch(hashes []uint64, order []int32) {
	prefetch([]shardRun{{s: s, ops: len(order)}}, hashes, order)
}

// prefetch reads the memory that the ops of the runs will use, at most prefetchOps: all their
// pages, and the counters of their keys, then a slot of each, then the right slots, then all
// their records, then the ends of their chunks. The reads of each step are independent, and no
// branch waits for them, so that the processor waits for memory once per step and not once per
// op. It decides nothing, and overwrites the cells of the shards.
func prefetch(runs []shardRun, hashes []uint64, order []int32) {
	if len(order) == 1 {
		return
	}
	var (
		pages [prefetchOps]page
		slots [prefetchOps]int
		sum   uint64
	)
	i := 0
	for _, r := range runs {
		counter := r.s.tops[TopHot].Last()
		for range r.ops {
			hash := hashes[order[i]]
			pages[i] = r.s.pageOf(hash)
			sum += counter.Prefetch(hash)
			i++
		}
	}
	for i, op := range order {
		if p := pages[i]; p.slots() > 0 {
			sum += uint64(p.buf[p.guess(tag(hashes[op], p.depth))*slotBytes])
		}
	}
	i = 0
	for _, r := range runs {
		for range r.ops {
			if p, hash := pages[i], hashes[order[i]]; p.slots() > 0 {
				slots[i] = min(p.seek(tag(hash, p.depth)), p.slots()-1)
				r.s.sought.note(hash, slots[i])
			}
			i++
		}
	}
	for i := range order {
		if p := pages[i]; p.slots() > 0 {
			at := p.offset(slots[i])
			sum += uint64(p.buf[at]) + uint64(p.buf[min(at+prefetchBytes, len(p.buf)-1)])
		}
	}
	i = 0
	for _, r := range runs {
		if r.s.chunks.bytes > 0 {
			sum += r.s.prefetchChunks(pages[i:i+r.ops], slots[i:i+r.ops])
		}
		i += r.ops
	}
	runs[0].s.prefetched = sum
}

// prefetchPlaces reads the memory of the first keys of some calls, at most prefetchOps, as prefetch
// does for ops. Requires: their shards are entered. It does nothing for a single key.
func (e *Engine) prefetchPlaces(places []keyPlace) {
	if len(places) < 2 {
		return
	}
	var (
		pages [prefetchOps]page
		slots [prefetchOps]int
		sum   uint64
	)
	places = places[:min(len(places), prefetchOps)]
	for i := range places {
		k := &places[i]
		pages[i] = e.shards[k.shard].pageOf(k.hash)
	}
	for i := range places {
		if p := pages[i]; p.slots() > 0 {
			sum += uint64(p.buf[p.guess(tag(places[i].hash, p.depth))*slotBytes])
		}
	}
	for i := range places {
		if p, k := pages[i], &places[i]; p.slots() > 0 {
			slots[i] = min(p.seek(tag(k.hash, p.depth)), p.slots()-1)
			e.shards[k.shard].sought.note(k.hash, slots[i])
		}
	}
	for i := range places {
		if p := pages[i]; p.slots() > 0 {
			at := p.offset(slots[i])
			sum += uint64(p.buf[at]) + uint64(p.buf[min(at+prefetchBytes, len(p.buf)-1)])
		}
	}
	e.shards[places[0].shard].prefetched = sum
}
