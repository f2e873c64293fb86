package engine

import (
	"math"
	"slices"
	"sort"
)

// A hold is the part of a reservation on one limit: permits that were taken, and that the
// reservation may give back as if they had never been taken. The key of the limit has a list of its
// holds; the past of the key says so, and the word after the words of its algorithm is the number of the
// list in the table of the shard.
//
// A hold that has ended gives back all but keep. Each write to the key first settles the holds that
// have ended. Until then a look settles them in a copy of the cell: settling late equals settling in
// time, because nothing was taken in between.
type hold struct {
	id         uint64  // hash of the id of the reservation
	stamp, end Instant // when the permits were taken, and when the hold ends
	n, keep    int64
	// mark is, for a bucket, the least time owed in drops from the hold until the next hold, except
	// of the last hold, see holdList.last. No more can be given back, because the
	// bucket would have earned the rest anyway.
	mark wide
}

// MaxHolds bounds the open holds of a key.
const MaxHolds = 8192

const (
	holdBytes     = 64
	holdListBytes = 96
)

// A holdList has the holds of a key in the order of their stamps. A list is never changed: a change
// makes another list, which may share the holds. So a cell may be changed and dropped, as for a
// probe.
type holdList struct {
	items []hold
	last  wide    // mark of the last hold
	least Instant // the first end of a hold
}

// noHolds is the list of a key without holds.
var noHolds = holdList{least: math.MaxInt64}

// unmarked is the mark of a hold that was just taken.
var unmarked = wide{math.MaxUint64, math.MaxUint64}

// holds is the memory of the lists of a shard.
type holds struct {
	lists   []keptList // from 1 on
	free    []uint32
	bytes   int64
	changes uint64 // number of lists that were kept so far
	stats   HoldStats
}

// A keptList is a list with the number of its last change.
type keptList struct {
	list   *holdList
	change uint64
}

// of returns the list of a cell that was loaded.
func (m *holds) of(c *cell) *holdList { return m.lists[c.state[c.alg().words]].list }

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
		m.lists[*ref].list = &noHolds
		m.bytes += holdListBytes
	}
	x := &m.lists[*ref]
	m.bytes += int64(cap(c.holds.items)-cap(x.list.items)) * holdBytes
	m.count(len(c.holds.items) - len(x.list.items))
	m.changes++
	x.list, x.change = c.holds, m.changes
}

// release releases the list of a cell, if it was kept.
func (m *holds) release(c *cell) {
	if ref := c.state[c.alg().words]; ref != 0 {
		m.bytes -= holdListBytes + int64(cap(m.lists[ref].list.items))*holdBytes
		m.count(-len(m.lists[ref].list.items))
		m.lists[ref] = keptList{}
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

// marks reports whether marks bound the permits that a hold gives back, as for a bucket. A bucket
// with a past has no holds.
func (c *cell) marks() bool { return c.params.Count > 0 }

// hasEnded reports whether a hold has ended, and is not settled.
func (c *cell) hasEnded(now Instant) bool { return c.holds.least <= now }

// settleEnded settles the holds that have ended, in the order of their ends.
func (c *cell) settleEnded(now Instant) {
	if !c.hasEnded(now) {
		return
	}
	l := c.holds.clone()
	var ended []int
	for i := range l.items {
		if l.items[i].end <= now {
			ended = append(ended, i)
		}
	}
	sort.SliceStable(ended, func(a, b int) bool { return l.items[ended[a]].end < l.items[ended[b]].end })
	for _, i := range ended {
		h := &l.items[i]
		at := now
		if c.params.Alg == Fixed { // a debt is carried over at the end of its window
			at = h.end
		}
		c.undo(l, i, at, h.n-h.keep)
	}
	c.holds = l.without(func(h *hold) bool { return h.end <= now })
}

// settle gives x permits of hold i back, and removes it. Requires: no hold has ended.
func (c *cell) settle(now Instant, i int, x int64) {
	l := c.holds.clone()
	c.undo(l, i, now, x)
	h := &l.items[i]
	c.holds = l.without(func(other *hold) bool { return other == h })
}

// undo gives x permits of hold i back, as if they had never been taken, in a list that the caller
// alone has. It leaves the hold in the list.
func (c *cell) undo(l *holdList, i int, at Instant, x int64) {
	if x <= 0 {
		return
	}
	h := &l.items[i]
	ref := c.bare()
	defer c.dress(ref)
	switch {
	case c.marks():
		c.undoTime(l, i, at, x)
	case c.alg().chunked:
		if n := min(x, permitsAt(c, at, h.stamp)); n > 0 {
			c.limiter().giveBack(c, at, h.stamp, n)
		}
	default:
		c.limiter().giveBack(c, at, h.stamp, x)
	}
}

// undoTime is undo for a bucket, which is bare.
func (c *cell) undoTime(l *holdList, i int, at Instant, x int64) {
	owed := bucket{}.owed(c, at)
	back := lower(mul(uint64(x), uint64(c.params.Period)), owed)
	for j := i; j < len(l.items); j++ {
		back = lower(back, *l.mark(j))
	}
	bucket{}.set(c, at, owed.subSaturating(back))
	for j := i; j < len(l.items); j++ {
		*l.mark(j) = l.mark(j).subSaturating(back)
	}
}

// permitsAt returns the permits of the entry at a stamp that count.
func permitsAt(c *cell, now, stamp Instant) int64 {
	l := loadLog(c)
	l.expire(c, now)
	if l.first == 0 {
		return 0
	}
	before, upTo := l, l
	before.expireBefore(c, stamp-1)
	upTo.expireBefore(c, stamp)
	return int64(upTo.expired - before.expired)
}

func lower(a, b wide) wide {
	if b.less(a) {
		return b
	}
	return a
}

// mark returns the mark of hold i.
func (l *holdList) mark(i int) *wide {
	if i == len(l.items)-1 {
		return &l.last
	}
	return &l.items[i].mark
}

// clone returns a copy that shares nothing.
func (l *holdList) clone() *holdList {
	return &holdList{items: slices.Clone(l.items), last: l.last, least: l.least}
}

// without removes holds from a list that the caller alone has. The hold before takes the lower of
// the marks.
func (l *holdList) without(gone func(h *hold) bool) *holdList {
	kept := make([]hold, 0, len(l.items))
	for i := range l.items {
		h, mark := l.items[i], *l.mark(i)
		if !gone(&l.items[i]) {
			h.mark = mark
			kept = append(kept, h)
		} else if n := len(kept); n > 0 {
			kept[n-1].mark = lower(kept[n-1].mark, mark)
		}
	}
	return listOf(kept)
}

// listOf returns a list of holds, all with their marks. It keeps items.
func listOf(items []hold) *holdList {
	if len(items) == 0 {
		return &noHolds
	}
	l := &holdList{items: items, last: items[len(items)-1].mark, least: math.MaxInt64}
	items[len(items)-1].mark = wide{}
	for i := range items {
		l.least = min(l.least, items[i].end)
	}
	return l
}

// with returns the list with one more hold.
func (l *holdList) with(h hold) *holdList {
	items := l.items
	if len(items) == cap(items) {
		items = append(make([]hold, 0, len(items)+max(1, len(items)/2)), items...)
	}
	if n := len(items); n > 0 {
		items[n-1].mark = l.last // in another list the mark of this hold has no meaning
	}
	h.mark = wide{}
	return &holdList{items: append(items, h), last: unmarked, least: min(l.least, h.end)}
}

// lowered returns the list with the last mark at most owed.
func (l *holdList) lowered(owed wide) *holdList {
	if len(l.items) == 0 || !owed.less(l.last) {
		return l
	}
	return &holdList{items: l.items, last: owed, least: l.least}
}

// fallen returns the list with all marks lower.
func (l *holdList) fallen(by wide) *holdList {
	if len(l.items) == 0 || by.isZero() {
		return l
	}
	l = l.clone()
	for i := range l.items {
		*l.mark(i) = l.mark(i).subSaturating(by)
	}
	return l
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

// reaching returns the list with another end and keep of hold i.
func (l *holdList) reaching(i int, end Instant, keep int64) *holdList {
	l = l.clone()
	h := &l.items[i]
	h.end, h.keep = end, min(keep, h.n)
	l.least = math.MaxInt64
	for j := range l.items {
		l.least = min(l.least, l.items[j].end)
	}
	return l
}
