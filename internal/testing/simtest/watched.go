package simtest

import (
	"fmt"

	"limitsrv/engine"
)

// A Watched is a call that watched a key, and a call that must be applied only if the key
// has not changed since.
type Watched struct{ Read, Use *Call }

// Watch records a Watched.
func (h *History) Watch(w Watched) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.Watched = append(h.Watched, w)
}

// checkWatched finds calls applied although their key had changed.
func (h *History) checkWatched() {
	byKey := map[string][]*Call{}
	for _, c := range h.Calls {
		for i := range c.Ops {
			if c.Ops[i].Kind == engine.Take && c.Ops[i].N > 0 {
				byKey[string(c.Ops[i].Key)] = append(byKey[string(c.Ops[i].Key)], c)
			}
		}
	}
	for _, w := range h.Watched {
		then, key := w.Use.Applied[1], string(w.Read.Ops[0].Key)
		if then == nil || h.Evicted[key] { // the key may have been missing, made, and missing again
			continue
		}
		for _, c := range byKey[key] {
			for i, a := range c.Applied {
				if a != nil && string(c.Ops[i].Key) == key && c.Called > w.Read.Answered && a.Position < then.Position &&
					a.Decision.Allowed > 0 && a.Op.N > 0 {
					h.Fault("call %d required that %s was as read by call %d, and call %d came between",
						w.Use.Number, key, w.Read.Number, c.Number)
				}
			}
		}
	}
}

func (h *History) watchedSummary() string {
	held, aborted := 0, 0
	for _, w := range h.Watched {
		switch {
		case w.Use.Applied[1] != nil:
			held++
		case w.Use.Outcome == Answered:
			aborted++
		}
	}
	return fmt.Sprintf("%d transactions, %d aborted", held, aborted)
}
