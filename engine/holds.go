package engine

// A hold is the part of a reservation on one limit: permits that were taken, and that the
// reservation may give back as if they had never been taken. The key of the limit has a list of its
// holds. past.held is 1 if the key has holds. The state word after the algorithm's words is then the index
// of the list in holds.lists.
//
// A hold that has ended gives back all but keep. Each write to the key, and each sweep, first settles
// the holds that have ended. Until then a look counts an ended hold as settled, see holding. Settling late
// equals settling in time, because nothing was taken in between.
type hold struct {
	id         uint64  // hash of the id of the reservation
	stamp, end Instant // when the permits were taken, and when the hold ends
	n, keep    int64
}

// surplus returns the permits that the hold gives back when it ends.
func (h *hold) surplus() int64 { return h.n - h.keep }

// MaxHolds bounds the open holds of a key.
const MaxHolds = 65536

const (
	holdBytes     = 40
	keptListBytes = 112
	keptRefBytes  = 4
)

// holds is the memory of the lists of a shard.
type holds struct {
	lists   []keptList // from 1 on
	free    []uint32
	held    int64  // bytes of the holds and their marks
	changes uint64 // number of lists that were kept so far
	stats   HoldStats
	records ReservationStats // of the ids in the shard
}

// A keptList is a list with the number of its last change.
type keptList struct {
	holdList
	change uint64
}

// bytes returns the memory of the lists.
func (m *holds) bytes() int64 {
	return int64(cap(m.lists))*keptListBytes + int64(cap(m.free))*keptRefBytes + m.held
}

// trim releases the memory if there are no lists.
func (m *holds) trim() {
	if len(m.free)+1 == len(m.lists) {
		m.lists, m.free = nil, nil
	}
}

// of returns the list of a cell that was loaded.
func (m *holds) of(c *cell) holdList { return m.kept(c).holdList }

// kept returns the list in the table of a cell that was loaded.
func (m *holds) kept(c *cell) *keptList { return &m.lists[c.state[c.alg().words]] }

// keep keeps the list of a cell that is about to be stored.
func (m *holds) keep(c *cell) {
	ref := &c.state[c.alg().words]
	if *ref == 0 {
		if n := len(m.free); n > 0 {
			*ref = uint64(m.free[n-1])
			m.free = m.free[:n-1]
		} else {
			if m.lists == nil {
				m.lists = make([]keptList, 1)
			}
			*ref = uint64(len(m.lists))
			m.lists = append(m.lists, keptList{})
		}
	}
	x := &m.lists[*ref]
	m.held += c.holds.bytes() - x.bytes()
	m.count(c.holds.len() - x.len())
	m.changes++
	*x = keptList{c.holds, m.changes}
}

// release releases the list of a cell, if it was kept.
func (m *holds) release(c *cell) {
	if ref := c.state[c.alg().words]; ref != 0 {
		x := &m.lists[ref]
		m.held -= x.bytes()
		m.count(-x.len())
		*x = keptList{}
		m.free = append(m.free, uint32(ref))
	}
}

// count counts n more open holds, or -n fewer.
func (m *holds) count(n int) {
	if m.stats.Open += int64(n); n > 0 {
		m.stats.Taken += int64(n)
	} else {
		m.stats.Gone -= int64(n)
	}
}

// none returns the totals once all holds are gone.
func (t HoldStats) none() HoldStats {
	t.Open, t.Gone = 0, t.Gone+t.Open
	return t
}

// words returns the number of words of the state in a record.
func (c *cell) words() int { return c.alg().words + int(c.past.held) }

// tail returns the tail of the key in the cell, or nil.
func (c *cell) tail() tail {
	if c.past.held != 0 {
		return holding{}
	}
	return c.alg().tail
}

// copied returns the tail if a Snapshot must copy it, or nil.
func (c *cell) copied() copied {
	if c.past.held != 0 {
		return holding{}
	}
	return c.alg().copied
}

// hasTail reports whether the keys of an entry have a tail.
func (e *paramEntry) hasTail() bool { return e.past.held != 0 || e.params.alg().tail != nil }

// bare turns the cell into the cell of a key without holds, and returns the word for dress.
func (c *cell) bare() (ref uint64) {
	word := &c.state[c.alg().words]
	ref, *word, c.past.held = *word, 0, 0
	return ref
}

// dress undoes bare.
func (c *cell) dress(ref uint64) { c.state[c.alg().words], c.past.held = ref, 1 }

// marks reports whether marks bound the permits that a hold gives back, as for a bucket.
func (c *cell) marks() bool { return c.params.Count > 0 }
