package engine

import (
	"math"
	"slices"
	"sort"
)

// A holdList has the holds of a key in the order of their stamps. Copies of a list share the memory of the holds
// and of the steps of their marks. So in a cell that is discarded later, as for a probe, the fields of the list
// may change, but not the holds and the steps, unless unshare was called.
type holdList struct {
	all []hold // gap unused slots, then the holds: so the removal of the oldest hold moves no hold
	marks
	gap   uint32
	least Instant // a lower bound of the ends of the holds; see hasEnded
}

// noHolds is the list of a key without holds.
var noHolds = holdList{least: math.MaxInt64}

// items returns the holds.
func (l *holdList) items() []hold { return l.all[l.gap:] }

// len returns the number of holds.
func (l *holdList) len() int { return len(l.all) - int(l.gap) }

// bytes returns the memory of the holds and their marks.
func (l *holdList) bytes() int64 {
	return int64(cap(l.all))*holdBytes + int64(cap(l.steps))*markStepBytes
}

// hasEnded reports whether a hold in the list has ended. Cost: O(1) while now is before least; otherwise it visits
// all holds, and raises least in the cell to their first end. renew then copies least to the kept list.
func (c *cell) hasEnded(now Instant) bool {
	if c.holds.least > now {
		return false
	}
	c.holds.first()
	return c.holds.least <= now
}

// first sets least to the first end of a hold.
func (l *holdList) first() {
	l.least = math.MaxInt64
	items := l.items()
	for i := range items {
		l.least = min(l.least, items[i].end)
	}
}

// unshare copies the holds and the steps, so that they may be changed.
func (l *holdList) unshare() { l.all, l.steps = slices.Clone(l.all), slices.Clone(l.steps) }

// lower lowers the marks to at most owed, the time that the bucket owes before permits are taken. It changes
// neither holds nor steps.
func (l *holdList) lower(owed wide) {
	if l.len() > 0 && owed.less(l.last) {
		l.last = owed
	}
}

// add adds a new hold. Requires: its permits were just taken, so it has the latest stamp.
func (l *holdList) add(h hold) {
	l.settle(l.gap, uint32(l.len()))
	if len(l.all) == cap(l.all) && int(l.gap) > len(l.all)/4 {
		l.closeGap(l.all)
	}
	l.all, l.least, l.last = append(l.all, h), min(l.least, h.end), unmarked
}

// closeGap moves the holds to the start of memory, which has room for them and may be l.all.
func (l *holdList) closeGap(memory []hold) {
	l.all = memory[:copy(memory, l.items())]
	moveSteps(l.steps, -l.gap)
	l.gap = 0
}

// remove removes hold i. Cost: it moves the holds on the shorter side of i, changes the slots of the steps there,
// and may move the later steps.
func (l *holdList) remove(i int) {
	items, slot := l.items(), l.gap+uint32(i)
	older, newer := l.split(slot)
	if i < len(items)/2 {
		copy(items[1:], items[:i])
		l.gap++
		moveSteps(older, 1)
	} else {
		copy(items[i:], items[i+1:])
		l.all = l.all[:len(l.all)-1]
		moveSteps(newer, ^uint32(0))
	}
	if uint32(i) < l.marked {
		l.marked--
	}
	l.join(len(older))
	l.end(l.gap + l.marked)
	l.fit()
}

// drop removes each hold if gone returns true for it. Cost: linear.
func (l *holdList) drop(gone func(h *hold) bool) {
	items, steps, kept, marked := l.items(), l.steps, 0, uint32(0)
	l.steps = l.steps[:0]
	for i := range items {
		for len(steps) > 0 && steps[0].at == l.gap+uint32(i) {
			l.push(markStep{l.gap + uint32(kept), steps[0].by})
			steps = steps[1:]
		}
		if gone(&items[i]) {
			continue
		}
		if uint32(i) < l.marked {
			marked++
		}
		items[kept] = items[i]
		kept++
	}
	l.all, l.marked = l.all[:int(l.gap)+kept], marked
	l.end(l.gap + marked)
	l.fit()
	l.first()
}

// fit releases memory if most of it is unused.
func (l *holdList) fit() {
	switch n := l.len(); {
	case n == 0:
		*l = noHolds
	case cap(l.all) > 4*n:
		l.closeGap(make([]hold, n))
		l.steps = slices.Clone(l.steps)
	}
}

// find returns the index of the hold of an id that was taken at a stamp, or -1. Cost: a binary search, and a step
// for each hold with the same stamp.
func (l *holdList) find(id uint64, stamp Instant) int {
	items := l.items()
	i := sort.Search(len(items), func(i int) bool { return items[i].stamp >= stamp })
	for ; i < len(items) && items[i].stamp == stamp; i++ {
		if items[i].id == id {
			return i
		}
	}
	return -1
}

// setEnd sets end and keep of hold i.
func (l *holdList) setEnd(i int, end Instant, keep int64) {
	h := &l.items()[i]
	h.end, h.keep = end, min(keep, h.n)
	l.least = min(l.least, end)
}
