package engine

import (
	"math"
	"slices"
	"sort"
)

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
	// mark is the least time owed by the bucket, in drops, between this hold and the next hold. Only
	// buckets use it. The last hold's mark is in holdList.last. A hold gives back at most the lowest mark
	// from its own on, because the bucket has already earned the rest.
	mark wide
}

// surplus returns the permits that the hold gives back when it ends.
func (h *hold) surplus() int64 { return h.n - h.keep }

// MaxHolds bounds the open holds of a key.
const MaxHolds = 65536

const (
	holdBytes     = 56
	keptListBytes = 56
	keptRefBytes  = 4
)

// A holdList has the holds of a key in the order of their stamps. Copies of a list share the items. A
// cell that is changed and dropped, as for a probe, may change its copy, but not the items.
type holdList struct {
	items []hold
	last  wide    // mark of the last hold
	least Instant // the first end of a hold
}

// noHolds is the list of a key without holds.
var noHolds = holdList{least: math.MaxInt64}

// unmarked is the mark of a hold before the next take. It stays until then: the time owed only falls,
// and is itself a bound.
var unmarked = wide{math.MaxUint64, math.MaxUint64}

// holds is the memory of the lists of a shard.
type holds struct {
	lists   []keptList // from 1 on
	free    []uint32
	items   int64  // holds that the lists have memory for
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
	return int64(cap(m.lists))*keptListBytes + int64(cap(m.free))*keptRefBytes + m.items*holdBytes
}

// trim releases the memory if there are no lists.
func (m *holds) trim() {
	if len(m.free)+1 == len(m.lists) {
		m.lists, m.free = nil, nil
	}
}

// of returns the list of a cell that was loaded.
func (m *holds) of(c *cell) holdList { return m.lists[c.state[c.alg().words]].holdList }

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
	m.items += int64(cap(c.holds.items) - cap(x.items))
	m.count(len(c.holds.items) - len(x.items))
	m.changes++
	*x = keptList{c.holds, m.changes}
}

// release releases the list of a cell, if it was kept.
func (m *holds) release(c *cell) {
	if ref := c.state[c.alg().words]; ref != 0 {
		x := &m.lists[ref]
		m.items -= int64(cap(x.items))
		m.count(-len(x.items))
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

// hasEnded reports whether a hold has ended, and is not settled.
func (c *cell) hasEnded(now Instant) bool { return c.holds.least <= now }

// mark returns the mark of hold i.
func (l *holdList) mark(i int) *wide {
	if i == len(l.items)-1 {
		return &l.last
	}
	return &l.items[i].mark
}

// lower lowers the last mark to at most owed, before permits are taken. It changes no item.
func (l *holdList) lower(owed wide) {
	if len(l.items) > 0 && owed.less(l.last) {
		l.last = owed
	}
}

// fall lowers a mark by the time that was given back.
func (a *wide) fall(by wide) {
	if *a != unmarked {
		*a = a.subSaturating(by)
	}
}

// level lowers the marks from hold i on to the least of their own and all later marks: so they no
// longer tell in which order permits were given back.
func (l *holdList) level(from int) {
	for i := len(l.items) - 2; i >= from; i-- {
		l.items[i].mark = lower(l.items[i].mark, *l.mark(i + 1))
	}
}

// unshare copies the items, so that they may be changed.
func (l *holdList) unshare() { l.items = slices.Clone(l.items) }

// rescale puts the marks of a bucket into a new unit, rounded down. The list then shares no items with
// the list before.
func (l *holdList) rescale(unit, to uint64) {
	if unit == to || len(l.items) == 0 {
		return
	}
	l.unshare()
	for i := range l.items {
		if mark := l.mark(i); *mark != unmarked {
			*mark = mark.inUnit(unit, to)
		}
	}
}

// inUnit returns a number of drops of a unit in another unit, rounded down; 0 if it exceeds a wide.
func (a wide) inUnit(unit, to uint64) wide {
	nanos, rest := a.div(unit)
	whole, fits := nanos.times(to)
	part, _ := mul(rest, to).div(unit)
	sum := whole.add(part)
	if !fits || sum.less(whole) {
		return wide{}
	}
	return sum
}

// add adds a new hold. Its permits were just taken.
func (l *holdList) add(h hold) {
	if n := len(l.items); n > 0 {
		l.items[n-1].mark = l.last
	}
	l.items, l.last, l.least = append(l.items, h), unmarked, min(l.least, h.end)
}

// drop removes the holds from index from on that gone selects. The hold before takes the lower of the
// marks.
func (l *holdList) drop(from int, gone func(h *hold) bool) {
	kept, recount := from, false
	l.items[len(l.items)-1].mark = l.last
	for i := from; i < len(l.items); i++ {
		if h := &l.items[i]; gone(h) {
			recount = recount || h.end == l.least
			if kept > 0 {
				before := &l.items[kept-1].mark
				*before = lower(*before, h.mark)
			}
			continue
		}
		first := i // of a run of holds that stay
		for i+1 < len(l.items) && !gone(&l.items[i+1]) {
			i++
		}
		kept += copy(l.items[kept:], l.items[first:i+1])
	}
	l.items = l.items[:kept]
	if kept == 0 {
		*l = noHolds
		return
	}
	l.last = l.items[kept-1].mark
	if cap(l.items) > 4*kept {
		l.items = append(make([]hold, 0, kept), l.items...)
	}
	if recount {
		l.first()
	}
}

// first sets least.
func (l *holdList) first() {
	l.least = math.MaxInt64
	for i := range l.items {
		l.least = min(l.least, l.items[i].end)
	}
}

// find returns the index of the hold of an id that was taken at a stamp, or -1.
func (l *holdList) find(id uint64, stamp Instant) int {
	i := sort.Search(len(l.items), func(i int) bool { return l.items[i].stamp >= stamp })
	for ; i < len(l.items) && l.items[i].stamp == stamp; i++ {
		if l.items[i].id == id {
			return i
		}
	}
	return -1
}

// setEnd sets end and keep of hold i.
func (l *holdList) setEnd(i int, end Instant, keep int64) {
	h := &l.items[i]
	before := h.end
	h.end, h.keep = end, min(keep, h.n)
	if l.least = min(l.least, end); before == l.least && end > before {
		l.first()
	}
}

func lower(a, b wide) wide {
	if b.less(a) {
		return b
	}
	return a
}
