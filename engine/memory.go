package engine

import "limitsrv/internal/invariants"

// Invariant: purging a page before its nextExpiry frees nothing, and until noExpiryUntil no page has
// an earlier nextExpiry. So a shard that is full of live keys rejects new keys without a search.
// noteExpiry keeps the invariant when the expiry of a key changes. checkStates checks pages.

const (
	// sweepTries bounds the pages swept for memory before a key is rejected; the search
	// ends early at a page that frees nothing.
	sweepTries = 8
	// maxSkipped bounds the pages that a search skips because nothing on them has expired.
	maxSkipped = 4
)

// makeRoom makes memory available for a record under a hash, if record > 0, and for grow
// bytes of chunks or nodes. It reports whether there is enough. It forgets expired keys of
// the page before it lets the page grow and, at the backstop, of a few other pages. It
// overwrites the cell. Cost: O(1) pages; no page if nothing has expired.
func (s *shard) makeRoom(h uint64, record, grow int, now Instant) bool {
	if p := s.pageOf(h); record > 0 && !p.fits(record) {
		more := s.packFull(p, record, now, s.reuse.idleSince(now))
		if more > 0 && !s.withinBound(grow+more) {
			more = s.packFull(p, record, now, now)
		}
		grow += more
	}
	if grow == 0 || s.withinBound(grow) {
		return true
	}
	if s.sweepFor(grow, now) {
		return true
	}
	s.stats.Refused++
	return false
}

// packFull purges a page that is too full for a record, and returns the memory that the page
// must still grow by. See purge for idle.
func (s *shard) packFull(p page, record int, now, idle Instant) (grow int) {
	if p.nextExpiry <= now {
		s.purge(p, now, idle)
		if p.oversized() {
			s.noteExpiry(p, 0, 0)
		}
	}
	if p.live()+slotBytes+record > len(p.buf) {
		grow = s.growth(p, record)
	}
	return grow
}

// sweepFor sweeps until grow bytes are available, and reports whether they are.
func (s *shard) sweepFor(grow int, now Instant) bool {
	for range sweepTries {
		if !s.seekExpired(now) {
			return false
		}
		found := s.sweepPage(now, now)
		s.publishUsage()
		if s.withinBound(grow) {
			return true
		}
		if !found {
			return false
		}
	}
	return false
}

// nothingExpires reports that sweeping any page at now frees nothing.
func (s *shard) nothingExpires(now Instant) bool { return now < s.noExpiryUntil }

// seekExpired moves the sweep to the next page with memory that purging may free, and
// reports whether it found such a page among maxSkipped pages.
func (s *shard) seekExpired(now Instant) bool {
	for range maxSkipped {
		if s.nothingExpires(now) {
			return false
		}
		p := s.pageOf(s.sweepCursor)
		if p.nextExpiry <= now {
			return true
		}
		s.reuse.note(p.nextExpiry)
		s.advanceSweep(p)
	}
	return false
}

// advanceSweep moves the sweep past a page with nothing more to free at present.
func (s *shard) advanceSweep(p page) {
	if s.fruitlessPages == 0 {
		s.soonestExpiry = latest
	}
	s.soonestExpiry = min(s.soonestExpiry, p.nextExpiry)
	if s.fruitlessPages++; s.fruitlessPages >= s.slab.pages() {
		s.fruitlessPages, s.noExpiryUntil = 0, s.soonestExpiry
	}
	if s.sweepCursor = hashAfter(s.sweepCursor, p.depth); s.sweepCursor == 0 {
		s.reuse.endRound()
		s.chunks.trim()
		s.leases.trim()
		s.holds.trim()
		s.params.trim()
	}
}

// noteExpiry lowers the page's and the shard's next expiry to at. removal is when a sweep may remove
// the record.
func (s *shard) noteExpiry(p page, at, removal Instant) {
	p.nextExpiry = min(p.nextExpiry, at)
	s.soonestExpiry, s.noExpiryUntil = min(s.soonestExpiry, at), min(s.noExpiryUntil, at)
	s.reuse.note(removal)
}

// isSplit reports whether page p must be split when its records need this many bytes.
func (s *shard) isSplit(p page, need int) bool {
	return need > pageSizes[splitSize] && p.slots() > 1 && p.depth < maxPrefix-s.bits
}

// growth returns the memory, in bytes, that another record in p needs, including growth of the
// directory.
func (s *shard) growth(p page, record int) int {
	need := p.live() + slotBytes + record
	if s.isSplit(p, need) {
		return pageSizes[splitSize] + pageHeadBytes + s.dividing(p.depth, s.slab.pages())
	}
	return pageSizes[classFor(need)] - len(p.buf)
}

// purge removes the expired keys of a page and updates its nextExpiry. A limit without a tail is
// removed only if it had expired at the earlier instant idle, because the next take may reuse its
// record. Returns a lower bound on the time of the next removal by this rule. The caller must
// shrink the page.
func (s *shard) purge(p page, now, idle Instant) (rest Instant) {
	next := latest
	rest = latest
	for i, ahead := p.slots()-1, 0; i >= 0; i, ahead = i-1, ahead-1 {
		if ahead == 0 && s.chunks.bytes > 0 {
			ahead = min(i+1, prefetchOps)
			s.prefetchNewest(p, i+1-ahead, i+1)
		}
		c := s.load(p, i)
		if c.past.held != 0 {
			s.settleHolds(now, place{page: p.pageHead, slot: i})
		}
		wait := c.meter().until(c, now, 0)
		expired := wait == (Span{}) && c.meter().used(c, now) == 0
		if expired && s.isIdle(c, now, idle) {
			s.forgetExpired(place{page: p.pageHead, slot: i})
			continue
		}
		end := now.after(wait)
		if c.past.held != 0 {
			end = min(end, c.holds.least)
		}
		next = min(next, end)
		switch {
		case expired:
			end = min(now, idle.after(c.meter().until(c, idle, 0))) + (now - idle)
		case c.isReused():
			end += now - idle
		}
		rest = min(rest, end)
	}
	p.nextExpiry = next
	return rest
}

// isIdle reports whether the record of an expired key is to be removed at now.
func (s *shard) isIdle(c *cell, now, idle Instant) bool {
	if !c.isReused() || idle == now {
		return true
	}
	if c.meter().used(c, idle) > 0 {
		return false
	}
	s.reuse.wasted++
	return true
}

// sweepPage purges the page of the sweep unless that frees nothing, shrinks it, advances the sweep,
// and reports whether that freed anything. See purge for idle. It overwrites the cell.
func (s *shard) sweepPage(now, idle Instant) bool {
	p, keys, held := s.pageOf(s.sweepCursor), s.keys, s.bytes()
	rest := p.nextExpiry
	if rest <= now+(now-idle) {
		if rest = s.reuse.until; !s.reuse.rests(now, idle) {
			rest = s.purge(p, now, idle)
		}
	}
	s.reuse.note(rest)
	s.values.Collect(collectPerPage)
	p = s.shrink(p)
	s.merge(p)
	found := s.keys < keys || s.bytes() < held
	if found {
		s.fruitlessPages = 0
	}
	s.advanceSweep(p)
	return found
}

// shrink gives a page a smaller buffer if it needs no more than three quarters of its
// own.
func (s *shard) shrink(p page) page {
	if p.oversized() {
		return s.repack(p, classFor(p.live()))
	}
	return p
}

// oversized reports whether a page needs no more than three quarters of its buffer.
func (p page) oversized() bool { return pageSizes[classFor(p.live())] <= len(p.buf)*3/4 }

// merge joins the page of the sweep with the sibling that it was split from, if together they fill
// at most half a page. It does not merge pages below the directory that a Snapshot reads.
func (s *shard) merge(p page) {
	if p.depth == 0 || s.frozen != nil && p.depth > s.frozen.dirDepth {
		return
	}
	half := uint64(1) << (64 - p.depth) // number of hashes of the page
	first := s.sweepCursor &^ (2*half - 1)
	a, b := s.pageOf(first), s.pageOf(first+half)
	if a.depth != b.depth || a.live()+b.live() > pageSizes[splitSize]/2 {
		return
	}
	s.preserve(a)
	s.preserve(b)
	s.moves++
	halves := [2]page{s.copyAside(a, 0), s.copyAside(b, 1)}
	p.nextExpiry = min(a.nextExpiry, b.nextExpiry)
	s.reuse.note(p.nextExpiry) // the round of the sweep skips the sibling
	p.depth--
	p = s.slab.resize(p, classFor(a.live()+b.live()))
	for _, from := range halves {
		for i := range from.slots() {
			s.move(from, i, p)
		}
	}
	other := a
	if p.number == a.number {
		other = b
	}
	s.slab.drop(other)
	s.join(first, p.depth, p.number)
	if invariants.Enabled && s.samples.pages.Next() {
		s.checkTable()
	}
}
