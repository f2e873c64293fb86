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

// extend applies a call of Extend.
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
		if !passed(w.ops, w.decisions, true) {
			answerState(c, false, Limited, r.total(r.first()), w.wait())
			return
		}
	}
	if r.end = tx.Now() + engine.Instant(x.TTL); x.Keep != Unchanged {
		r.keep = x.Keep
	}
	if x.By > 0 {
		r.layers = append(r.layers, layer{tx.Now(), x.By, w.missed(r)})
	}
	w.prepare(tx, c.Args[idArg])
	w.reach(tx, c.Args[idArg], x.By > 0)
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
		op := engine.Op{Kind: engine.Take, Mode: l.mode, Params: l.params, N: n, Key: l.key}
		if !mayHold(tx, &op) { // the error has no key: the client may have no pattern for it
			return fullOf("a limit of the reservation")
		}
		w.ops = append(w.ops, op)
		w.decisions = append(w.decisions, engine.Decision{})
	}
	switch {
	case len(r.limits) == 0: // of a request by rules that met no limit
		return ""
	case len(w.ops) == 0:
		return "ERR all limits of the reservation are fixed, so BY has no limit to take from"
	case tx.Tight():
		w.fail(engine.NoMemory)
	case w.fits(tx, n):
		w.decideAs(tx, w.ops, w.decisions, true)
	}
	for i := range w.decisions {
		if w.decisions[i].Status == engine.NoMemory && w.ops[i].Mode != engine.Shadow {
			return errNoMemory
		}
	}
	return ""
}

// fits reports whether the ops would pass together with n permits each. If not, w.decisions has the denials.
// It changes no limit, not even its parameters, which may be newer than the parameters of the ops.
func (w *worker) fits(tx *engine.Tx, n int64) bool {
	var look engine.Op
	look.LookFor(n)
	for i := range w.ops {
		op, d := w.ops[i], &w.decisions[i]
		op.Mode, op.N, op.ID = 0, 0, look.ID
		w.batch.Ops = append(w.batch.Ops[:0], op)
		tx.Decide(&w.batch)
		if *d = w.batch.Decisions[0]; d.Status != engine.OK || d.Remaining < n {
			d.Allowed = 0
		}
	}
	return passed(w.ops, w.decisions, true)
}

// wait returns the milliseconds until the denied ops could pass, or -1 if they never could. It is the longest
// wait of the denied ops without a mode. If all of those ops pass, it is the shortest wait of the AnyOf ops.
func (w *worker) wait() int64 {
	longest, shortest, denies := int64(0), int64(-1), false
	for i := range w.decisions {
		d, mode := &w.decisions[i], w.ops[i].Mode
		if d.Status == engine.OK && d.Allowed > 0 || mode == engine.Shadow {
			continue
		}
		wait := int64(-1)
		if d.Status == engine.OK && d.Wait != engine.Never {
			wait = d.Wait.CeilMillis()
		}
		switch {
		case mode == engine.AnyOf:
			if shortest < 0 || wait >= 0 && wait < shortest {
				shortest = wait
			}
		case wait < 0 || longest < 0:
			longest, denies = -1, true
		default:
			longest, denies = max(longest, wait), true
		}
	}
	if denies {
		return longest
	}
	return shortest
}

// missed returns a bit for each variable limit that did not pass, although the extension did. Requires: more
// has set the ops.
func (w *worker) missed(r *record) (bits uint64) {
	next := 0
	for i := range r.limits {
		if r.limits[i].fixed {
			continue
		}
		if d := &w.decisions[next]; d.Status != engine.OK || d.Allowed == 0 || w.ops[next].N == 0 {
			bits |= 1 << i
		}
		next++
	}
	return bits
}

// reach updates the ends of the leases, and End and Keep of all holds. It assigns the kept permits to the
// oldest layers first. If fresh, the last layer has no holds yet, and reach creates them.
func (w *worker) reach(tx *engine.Tx, id []byte, fresh bool) {
	r := &w.record
	for i := range r.limits {
		l := &r.limits[i]
		if l.isLease() {
			tx.SetLease(l.key, id, r.end)
			continue
		}
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
