package engine

import "limitsrv/internal/invariants"

// invariantSamples select the changes of a shard that are followed by a check of its
// invariants.
type invariantSamples struct{ ops, records, pages invariants.Sample }

// checkRecords checks the layout of a page after a record was added or removed: the slots are
// sorted, they and the records do not overlap, dead counts all other bytes, and the directory leads
// to the page for each key.
func (s *shard) checkRecords(p page) {
	used := int(p.dead)
	if int(p.low) < p.slots()*slotBytes || int(p.low) > len(p.buf) {
		invariants.Violated("page %d of %d bytes has %d slots, and its records start at %d", p.number, len(p.buf), p.slots(),
			p.low)
	}
	for i := range p.slots() {
		at, n, key := s.record(p, i)
		head := p.head(at)
		h := s.hash(head.db(), key)
		switch {
		case at < int(p.low) || at+n > len(p.buf):
			invariants.Violated("page %d has a record from %d to %d, want %d to %d", p.number, at, at+n, p.low, len(p.buf))
		case s.params.list[head.param()].keys <= 0:
			invariants.Violated("page %d has a record with unused parameters %d", p.number, head.param())
		case i > 0 && p.tagAt(i-1) > p.tagAt(i):
			invariants.Violated("page %d has the tag %d before %d, want ascending tags", p.number, p.tagAt(i-1), p.tagAt(i))
		case p.tagAt(i) != tag(h, p.depth):
			invariants.Violated("page %d has the tag %d for a key, want %d", p.number, p.tagAt(i), tag(h, p.depth))
		case s.numberOf(h) != p.number:
			invariants.Violated("page %d has a key of page %d", p.number, s.numberOf(h))
		}
		used += n
	}
	if want := len(p.buf) - int(p.low); used != want {
		invariants.Violated("page %d has %d bytes of records and dead bytes, want %d", p.number, used, want)
	}
}

// checkTable checks the sums of the table after the directory has changed: of keys, pages and
// memory.
func (s *shard) checkTable() {
	var (
		pages     int
		keys, in  int64
		heldBytes = int64(s.slab.fresh) * pageHeadBytes
	)
	for p := range s.pages() {
		pages++
		keys += int64(p.count)
		heldBytes += int64(pageSizes[p.class])
	}
	for db, n := range s.keysIn {
		in += n
		if lasting := s.lastingIn[db]; lasting < 0 || lasting > n {
			invariants.Violated("%d of %d keys of database %d never expire", lasting, n, db)
		}
	}
	switch {
	case keys != s.keys || in != s.keys:
		invariants.Violated("%d keys in pages and %d in databases, want %d", keys, in, s.keys)
	case pages != s.slab.pages():
		invariants.Violated("the directory has %d pages, the slab has %d", pages, s.slab.pages())
	case heldBytes != s.slab.bytes:
		invariants.Violated("the pages have %d bytes, the slab counts %d", heldBytes, s.slab.bytes)
	}
}

// checkStates checks the states on a page after an op at now: they are in range, as in a snapshot,
// and the page's next expiry is no later than the expiry of a key.
func (s *shard) checkStates(now Instant, p page) {
	kept := s.cell
	for i := range p.slots() {
		c := s.load(p, i)
		m := c.meter()
		if c.tail() == nil && !m.valid(c, now) {
			invariants.Violated("at %d a %v has a state out of range: %v, with %+v and %+v", now, c.params.Alg, c.state,
				c.params, c.past)
		}
		if expiry := now.after(m.until(c, now, 0)); p.nextExpiry > now && p.nextExpiry > expiry {
			invariants.Violated("a %v expires at %d, its page %d only at %d", c.params.Alg, expiry, p.number, p.nextExpiry)
		}
	}
	s.cell = kept
}
