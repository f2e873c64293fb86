package engine

import (
	"math"
	"slices"
	"sort"
)

// marks are the marks of the holds of a bucket. The mark of a hold is the least time that the bucket owed, in
// drops, since the hold was taken. A hold gives back at most its mark, because the bucket has already earned the
// rest. The time that a hold gives back is subtracted from its own mark and from the marks of all later holds.
// The mark of each earlier hold then falls to at most the new mark of this hold.
//
// So no hold has a higher mark than a later hold, and a list keeps the steps by which the marks rise: a mark is
// the sum of the steps up to its hold, and at most last. A take lowers only last. Each hold adds at most one
// step, so the cost of lowering steps is O(1) a hold on average.
type marks struct {
	steps  []markStep // in the order of their holds; at most one step a hold
	sum    wide       // of the steps
	last   wide       // an upper bound of all marks, and the mark of each hold after the first marked holds
	marked uint32     // number of the oldest holds that have their marks in steps
}

// A markStep raises the mark of the hold in slot at of holdList.all, and the marks of all later holds.
type markStep struct {
	at uint32
	by wide
}

const markStepBytes = 24

// unmarked is the value of last from a new hold until the next take, and always if the key is not a bucket. Until
// a take the time owed only falls, and is itself the bound of the time to give back.
var unmarked = wide{math.MaxUint64, math.MaxUint64}

// moveSteps adds slots to the slot of each step, modulo 2^32: ^uint32(0) subtracts 1.
func moveSteps(steps []markStep, slots uint32) {
	for i := range steps {
		steps[i].at += slots
	}
}

// split returns the steps up to a slot, with the step of this slot, and the later steps.
func (m *marks) split(slot uint32) (older, newer []markStep) {
	n := sort.Search(len(m.steps), func(i int) bool { return m.steps[i].at > slot })
	return m.steps[:n], m.steps[n:]
}

// push adds a step. Requires: its slot is the slot of the last step, or later.
func (m *marks) push(s markStep) {
	if n := len(m.steps); n > 0 && m.steps[n-1].at == s.at {
		m.steps[n-1].by = m.steps[n-1].by.add(s.by)
		return
	}
	m.steps = append(m.steps, s)
}

// join joins the last of the first n steps with the next step if they have the same slot.
func (m *marks) join(n int) {
	if n > 0 && n < len(m.steps) && m.steps[n-1].at == m.steps[n].at {
		m.steps[n].by = m.steps[n].by.add(m.steps[n-1].by)
		m.steps = slices.Delete(m.steps, n-1, n)
	}
}

// end removes the steps of a slot and of all later slots.
func (m *marks) end(slot uint32) {
	n := len(m.steps)
	for ; n > 0 && m.steps[n-1].at >= slot; n-- {
		m.sum = m.sum.subSaturating(m.steps[n-1].by)
	}
	m.steps = m.steps[:n]
}

// sumOf returns the sum of the first n steps. Cost: it adds up the steps on the shorter side of n.
func (m *marks) sumOf(n int) (sum wide) {
	if n < len(m.steps)/2 {
		for i := range n {
			sum = sum.add(m.steps[i].by)
		}
		return sum
	}
	for sum = m.sum; n < len(m.steps); n++ {
		sum = sum.subSaturating(m.steps[n].by)
	}
	return sum
}

// lowerSteps subtracts by from the sum of steps: it removes or lowers steps, the last step first. It returns the
// number of steps that are left. Requires: the sum is at least by.
func lowerSteps(steps []markStep, by wide) int {
	n := len(steps)
	for ; !by.isZero() && n > 0; n-- {
		if s := &steps[n-1]; by.less(s.by) {
			s.by = s.by.subSaturating(by)
			return n
		}
		by = by.subSaturating(steps[n-1].by)
	}
	return n
}

// limit lowers the sum of the steps to at most last.
func (m *marks) limit() {
	if m.last.less(m.sum) {
		m.steps = m.steps[:lowerSteps(m.steps, m.sum.subSaturating(m.last))]
		m.sum = m.last
	}
}

// settle puts the marks of all holds into steps, so that last is free for a new hold. The oldest hold is in slot
// first. If last is unmarked, the holds without steps stay without steps.
func (m *marks) settle(first, holds uint32) {
	if m.limit(); m.last == unmarked || m.marked == holds {
		return
	}
	if m.sum.less(m.last) {
		m.push(markStep{first + m.marked, m.last.subSaturating(m.sum)})
		m.sum = m.last
	}
	m.marked = holds
}

// fall lowers last by time that was given back, unless last is unmarked.
func (m *marks) fall(by wide) {
	if m.last != unmarked {
		m.last = m.last.subSaturating(by)
	}
}

// fallAll lowers all marks by time that was given back by another command than a settlement, as for a refund.
func (m *marks) fallAll(by wide) {
	m.fall(by)
	m.sum = m.sum.subSaturating(by)
	n := 0
	for ; n < len(m.steps) && !by.less(m.steps[n].by); n++ {
		by = by.subSaturating(m.steps[n].by)
	}
	if m.steps = slices.Delete(m.steps, 0, n); len(m.steps) > 0 {
		m.steps[0].by = m.steps[0].by.subSaturating(by)
	}
}

// rescale converts the marks from drops of one unit to drops of another unit, rounded down. If the units differ,
// it copies the steps first, because copies of the list share them.
func (m *marks) rescale(unit, to uint64) {
	if unit == to {
		return
	}
	m.steps = slices.Clone(m.steps)
	m.limit()
	var before, after wide
	for i := range m.steps {
		s := &m.steps[i]
		before = before.add(s.by)
		s.by = before.inUnit(unit, to).subSaturating(after)
		after = after.add(s.by)
	}
	if m.sum = after; m.last != unmarked {
		m.last = m.last.inUnit(unit, to)
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

// A markReader returns the marks of the holds of a list.
type markReader struct {
	list *holdList
	n    int  // number of steps up to the hold of the last call
	sum  wide // of these steps
}

// of returns the mark of hold i. Requires: i ascends from call to call.
func (r *markReader) of(i int) wide {
	l := r.list
	for r.n < len(l.steps) && l.steps[r.n].at <= l.gap+uint32(i) {
		r.sum = r.sum.add(l.steps[r.n].by)
		r.n++
	}
	if uint32(i) >= l.marked {
		return l.last
	}
	return lower(r.sum, l.last)
}

func lower(a, b wide) wide {
	if b.less(a) {
		return b
	}
	return a
}
