package simtest

import (
	"github.com/anishathalye/porcupine"

	"limitsrv/engine"
)

// admitModel is the sequential model of the number of admit. An input is a Run, an output the
// number told.
var admitModel = porcupine.Model{
	Init: func() any { return int64(0) },
	Step: func(state, input, output any) (bool, any) {
		used, run := state.(int64), input.(Run)
		want := used + run.n
		if want > run.limit {
			want = -used
		}
		if told, ok := output.(int64); ok && told != want {
			return false, state
		}
		return true, max(want, used)
	},
}

// checkAdmitted checks the runs of admit from the clients' view, without the log: no run is
// admitted beyond the limit, or twice for the same permits, and no admitted run is lost.
func (h *History) checkAdmitted() {
	numbers := map[place]*number{}
	for _, c := range h.Calls {
		for i, run := range c.Runs {
			at := place{c.Ops[i].DB, run.key}
			if run.of == admitInWindow || h.Evicted[run.key] {
				continue
			}
			k := numbers[at]
			if k == nil {
				k = newNumber(at, admitModel, run.limit)
				numbers[at] = k
			}
			k.add(c, run, run.n, func() (any, int64, bool) {
				sum, ok := told(c.Answers[i]) // not ok: no memory, or no such script
				if !ok || sum <= 0 {
					return sum, 0, ok
				}
				h.addSpan(k, sum, run.n)
				return sum, run.n, true
			})
		}
	}
	for _, k := range numbers {
		h.checkNumber(k, h.sumOf(k))
	}
}

// checkSpaced checks the runs of admitInWindow by the times that they were told: in limit +
// 1 successive runs, the first and the last are a window apart.
func (h *History) checkSpaced() {
	admitted := map[place][]int64{}
	for i := range h.Ops {
		a := &h.Ops[i]
		run, ok := a.of.Runs[a.which]
		if !ok || run.of != admitInWindow || h.Evicted[run.key] {
			continue
		}
		at, ok := told(a.Answer)
		if !ok {
			continue
		}
		if after := max(at, -at) - int64(a.Stamp)/1000; after < 0 || after > engine.MaxMicros {
			h.Fault("entry %d tells a script a time %d us after its own", a.Index, after)
		}
		if at > 0 {
			p := place{a.Op.DB, run.key}
			admitted[p] = append(admitted[p], at)
		}
	}
	for p, all := range admitted {
		for i := 1; i < len(all); i++ {
			if all[i] <= all[i-1] {
				h.Fault("%s admitted %d us after it had admitted", p.key, all[i]-all[i-1])
			}
		}
		for i := spacedLimit; i < len(all); i++ {
			if passed := all[i] - all[i-spacedLimit]; passed < spacedMicros {
				h.Fault("%s admitted %d times in %d us", p.key, spacedLimit+1, passed)
			}
		}
	}
}
