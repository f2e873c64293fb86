package engine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"limitsrv/internal/testing/testwait"
)

// A markedHold is a hold of markModel with its mark.
type markedHold struct {
	id   uint64
	mark wide
}

// A markModel has a mark for each hold, as the comment on marks describes them.
type markModel struct {
	holds []markedHold
	owed  wide
}

// bound returns the lowest mark from hold i on.
func (m *markModel) bound(i int) (least wide) {
	least = unmarked
	for _, h := range m.holds[i:] {
		least = lower(least, h.mark)
	}
	return least
}

func (m *markModel) fall(i int, by wide) {
	m.owed = m.owed.subSaturating(by)
	for ; i < len(m.holds); i++ {
		if h := &m.holds[i]; h.mark != unmarked {
			h.mark = h.mark.subSaturating(by)
		}
	}
}

// remove removes hold i. Its mark still bounds the holds before it.
func (m *markModel) remove(i int) {
	if i > 0 {
		m.holds[i-1].mark = lower(m.holds[i-1].mark, m.holds[i].mark)
	}
	m.holds = slices.Delete(m.holds, i, i+1)
}

// A markWorld has a bucket beside a model. The bucket earns a permit a nanosecond, so its unit is 1.
type markWorld struct {
	markModel
	cell
	now Instant
	rng *rand.Rand
	ids uint64
}

func (w *markWorld) pass(d Instant) {
	w.now += d
	w.owed = w.owed.subSaturating(wide{0, uint64(d)})
}

func (w *markWorld) reserve() {
	n := 1 + w.rng.Int64N(30)
	if len(w.markModel.holds) > 0 {
		last := &w.markModel.holds[len(w.markModel.holds)-1]
		last.mark = lower(last.mark, w.owed)
	}
	holding{}.take(&w.cell, w.now, n)
	w.owed = w.owed.add(wide{0, uint64(n)})
	if w.rng.IntN(3) == 0 {
		return
	}
	w.ids++
	end := w.now + 1 + Instant(w.rng.Int64N(4000))
	w.cell.holds.add(hold{id: w.ids, stamp: w.now, end: end, n: n, keep: w.rng.Int64N(n + 1)})
	w.markModel.holds = append(w.markModel.holds, markedHold{w.ids, unmarked})
}

// settleModel gives the surplus of hold i of the model back, and removes the hold.
func (w *markWorld) settleModel(i int, surplus int64) {
	w.markModel.fall(i, lower(wide{0, uint64(surplus)}, lower(w.owed, w.bound(i))))
	w.remove(i)
}

func (w *markWorld) settle() {
	if n := len(w.markModel.holds); n > 0 {
		i := []int{0, n - 1, w.rng.IntN(n)}[w.rng.IntN(3)]
		h := &w.cell.holds.items()[i]
		keep := w.rng.Int64N(h.n + 1)
		w.settleModel(i, h.n-keep)
		w.settleHold(w.now, i, keep)
	}
}

func (w *markWorld) expire() {
	for i := 0; i < len(w.markModel.holds); {
		at := slices.IndexFunc(w.cell.holds.items(), func(h hold) bool { return h.id == w.markModel.holds[i].id })
		if h := &w.cell.holds.items()[at]; h.end <= w.now {
			w.settleModel(i, h.surplus())
		} else {
			i++
		}
	}
	if w.hasEnded(w.now) {
		w.settleEnded(w.now)
	}
}

func (w *markWorld) refund() {
	n := w.rng.Int64N(20)
	w.markModel.fall(0, lower(wide{0, uint64(n)}, w.owed))
	holding{}.refund(&w.cell, w.now, n)
}

// rescale changes the unit from 1 to 7 and back, which must not change a mark.
func (w *markWorld) rescale() {
	w.cell.holds.rescale(1, 7)
	w.cell.holds.rescale(7, 1)
}

// TestMarksFollowTheModel: after any takes, settlements of old and new holds, expiries and refunds, the list has
// the holds and marks of the model, and at most one step a hold.
func TestMarksFollowTheModel(t *testing.T) {
	seed, steps := testwait.Seed(t), 0
	for run := range uint64(60) {
		w := markWorld{rng: rand.New(rand.NewPCG(seed, run)), now: 1e18}
		w.params, w.past.held, w.cell.holds = Params{Alg: Token, Limit: 1 << 30, Count: 1, Period: 1}, 1, noHolds
		for step := range 600 {
			switch w.pass(Instant(w.rng.Int64N(int64(1 + run%25)))); w.rng.IntN(12) {
			case 0, 1, 2, 3:
				w.settle()
			case 4:
				w.expire()
			case 5:
				w.refund()
			case 6:
				w.rescale()
			case 7:
				w.cell.holds.unshare()
			default:
				w.reserve()
			}
			l := &w.cell.holds
			if owed := (pastBucket{}).owed(&w.cell, w.now); owed != w.owed || l.len() != len(w.markModel.holds) {
				t.Fatalf("run %d, step %d: %v are owed with %d holds, want %v and %d", run, step, owed, l.len(), w.owed,
					len(w.markModel.holds))
			}
			r := markReader{list: l}
			for i, h := range l.items() {
				if got, want := r.of(i), w.bound(i); got != want || h.id != w.markModel.holds[i].id {
					t.Fatalf("run %d, step %d: hold %d has the mark %v, want %v", run, step, i, got, want)
				}
			}
			if steps = max(steps, len(l.steps)); len(l.steps) > l.len() {
				t.Fatalf("run %d, step %d: %d steps for %d holds", run, step, len(l.steps), l.len())
			}
		}
	}
	if steps < 10 {
		t.Errorf("a list had at most %d steps", steps)
	}
}
