package reservations

import (
	"encoding/binary"
	"fmt"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// An Extension says how a reservation is extended.
type Extension struct {
	TTL  int64 // nanoseconds from now until it expires
	By   int64 // more permits of each variable limit
	Keep int64 // as in Terms; Unchanged: as before
}

// Unchanged is the Extension.Keep of an extension without KEEP.
const Unchanged int64 = keepAll + 1

// Extend appends a call that extends the reservation of an id. The head has TTL, By and Keep.
func Extend(b *engine.Batch, id []byte, x Extension) {
	var head []byte
	for _, n := range [...]int64{x.TTL, x.By, x.Keep} {
		head = binary.AppendUvarint(head, uint64(n))
	}
	addCall(b, callExtend, id, head)
}

func readExtension(head []byte) (x Extension, ok bool) {
	r := reader{data: head}
	x.TTL, x.By, x.Keep = r.uvarint(), r.uvarint(), r.uvarint()
	return x, !r.bad && len(r.data) == 0 && x.TTL > 0 && x.TTL <= engine.MaxPeriod && x.By >= 0 &&
		x.By <= engine.MaxN && x.Keep >= 0 && x.Keep <= Unchanged
}

func checkExtend(c *engine.Call) error {
	if len(c.Args) != firstOp {
		return errCall
	}
	_, ok := readExtension(c.Args[headArg])
	return checkHead(c, ok)
}

// extend carries out a call of Extend.
func (w *worker) extend(tx *engine.Tx, c *engine.Call) {
	r, ok := w.open(tx, c)
	if !ok {
		return
	}
	x, _ := readExtension(c.Args[headArg])
	if x.By > 0 {
		if wrong := w.more(tx, r, x.By); wrong != "" {
			c.Answer = answer.AppendError(c.Answer, wrong)
			return
		}
		if wait, limited := w.limited(); limited {
			answerState(c, false, wordLimited, r.total(r.first()), wait)
			return
		}
	}
	if r.end = tx.Now() + engine.Instant(x.TTL); x.Keep != Unchanged {
		r.keep = x.Keep
	}
	if x.By > 0 {
		r.layers = append(r.layers, layer{tx.Now(), x.By})
	}
	w.prepare(tx, c.Args[idArg])
	w.reach(tx, x.By > 0)
	w.save(tx, c.Args[idArg])
	w.count(tx, c)
	answerState(c, true, wordOpen, r.total(r.first()), 0)
}

// more decides the ops that take n more permits of each variable limit. wrong is an error.
func (w *worker) more(tx *engine.Tx, r *record, n int64) (wrong string) {
	if len(r.layers) == maxLayers {
		return fmt.Sprintf("ERR a reservation is extended BY a number at most %d times", maxLayers-1)
	}
	tx.AddWork(len(r.limits) * workPerLimit)
	w.ops, w.decisions = w.ops[:0], w.decisions[:0]
	for i := range r.limits {
		l := &r.limits[i]
		if l.fixed {
			continue
		}
		if !tx.MayHold(l.key) {
			return fullOf(l.key)
		}
		w.ops = append(w.ops, engine.Op{Kind: engine.Take, Params: l.params, N: n, Key: l.key})
		w.decisions = append(w.decisions, engine.Decision{})
	}
	switch {
	case len(w.ops) == 0:
		return "ERR all limits of the reservation are fixed, so BY has no limit to take from"
	case tx.Tight():
		w.fail(engine.NoMemory)
	case w.fits(tx, n):
		w.decide(tx)
	}
	if w.decisions[0].Status == engine.NoMemory {
		return errNoMemory
	}
	return ""
}

// fits looks whether n permits are left of each limit of the ops. If not, the decisions tell that. It
// changes no limit, not even its parameters, which may be newer than the parameters of the ops.
func (w *worker) fits(tx *engine.Tx, n int64) bool {
	var look engine.Op
	look.LookFor(n)
	all := true
	for i := range w.ops {
		op, d := w.ops[i], &w.decisions[i]
		op.N, op.ID = 0, look.ID
		w.batch.Ops = append(w.batch.Ops[:0], op)
		tx.Decide(&w.batch)
		if *d = w.batch.Decisions[0]; d.Status != engine.OK || d.Remaining < n {
			all, d.Allowed = false, 0
		}
	}
	return all
}

// limited reports whether the decisions deny, and returns the longest wait in milliseconds, or -1 if
// no wait is long enough.
func (w *worker) limited() (wait int64, limited bool) {
	for i := range w.decisions {
		d := &w.decisions[i]
		if d.Status == engine.OK && d.Allowed > 0 {
			continue
		}
		if limited = true; d.Status != engine.OK || d.Wait == engine.Never {
			wait = -1
		} else if wait >= 0 {
			wait = max(wait, d.Wait.CeilMillis())
		}
	}
	return wait, limited
}

// reach gives the holds of the reservation their end and their kept permits: the oldest are kept
// first. The last layer is new if fresh is set.
func (w *worker) reach(tx *engine.Tx, fresh bool) {
	r := &w.record
	for i := range r.limits {
		l := &r.limits[i]
		keep := r.kept(l)
		for j := range r.layers {
			n := r.held(l, j)
			h := r.hold(w.holds[j], l, j, min(keep, n))
			switch keep -= h.Keep; {
			case n == 0:
			case fresh && j == len(r.layers)-1:
				tx.Hold(l.key, h)
				w.counts.Reserved += n
			default:
				tx.Reach(l.key, h)
			}
		}
	}
}
