package reservations

import (
	"encoding/binary"
	"sync"

	"limitsrv/commands/weighing"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// NoMemory is the text of the error of a command that needs memory beyond the bound.
const NoMemory = "command not allowed when used memory > 'max-memory' and it needs more"

// Errors of calls.
const (
	errWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value: the id is a key of another kind"
	errNoMemory  = "OOM " + NoMemory
	errOwnKey    = "ERR the id must not be a key of the request"
)

// A worker is the working memory of a call.
type worker struct {
	ops       []engine.Op // of the call
	decisions []engine.Decision
	batch     engine.Batch // of the ops that are decided together
	answer    []byte
	record    record
	text      []byte            // of the record that was read
	actual    []int64           // of a Commit
	amounts   []weighing.Amount // of a CommitNamed
	byName    []int64           // its numbers, by the index of the name in the record
	used      []int64           // tokens used of each limit of the record
	weights   []Weight          // of a call of Reserve
	holds     []uint64          // the IDs of the holds, by layer
	id        engine.Entry
	counts    engine.ReservationStats // of the call
}

var workers = sync.Pool{New: func() any { return new(worker) }}

func (w *worker) release() {
	clear(w.ops)
	clear(w.record.limits[:cap(w.record.limits)])
	clear(w.record.names[:cap(w.record.names)])
	clear(w.amounts[:cap(w.amounts)])
	clear(w.batch.Ops)
	w.id, w.counts = engine.Entry{}, engine.ReservationStats{}
	w.batch.Reset()
	workers.Put(w)
}

// once applies a call of Wrap.
func (w *worker) once(tx *engine.Tx, c *engine.Call) {
	w.read(c)
	repeated, wrong := w.carryOut(tx, c)
	w.answerDecisions(c, repeated, wrong)
}

// read reads the ops of a call.
func (w *worker) read(c *engine.Call) {
	w.ops, _ = readOps(w.ops[:0], c)
	w.decisions = w.decisions[:0]
	for range w.ops {
		w.decisions = append(w.decisions, engine.Decision{})
	}
}

// answerDecisions answers a call with an error, or with the decisions on its ops.
func (w *worker) answerDecisions(c *engine.Call, repeated bool, wrong string) {
	if wrong != "" {
		c.Answer = answer.AppendError(c.Answer, wrong)
		return
	}
	w.answer = appendDecisions(w.answer[:0], repeated, w.ops, w.decisions)
	c.Answer = answer.AppendBulk(c.Answer, w.answer)
}

// carryOut sets the decisions. repeated is set if the request has acted before. wrong is an error.
func (w *worker) carryOut(tx *engine.Tx, c *engine.Call) (repeated bool, wrong string) {
	id, request := c.Args[idArg], binary.LittleEndian.Uint64(c.Args[headArg])
	if wrong, stale := w.refuses(tx, id); wrong != "" || stale {
		return false, wrong
	}
	e, there := tx.Find(id)
	if there {
		r, ok := tx.Receipt(e)
		switch {
		case !ok:
			return false, errWrongType
		case r.Request != request:
			tx.CountReservations(e, &engine.ReservationStats{Conflicts: 1})
			return false, busy(id, "is of another request")
		}
		w.repeat(tx, r)
		return true, ""
	}
	if tx.Tight() {
		w.fail(engine.NoMemory)
		return false, ""
	}
	w.decide(tx)
	if r := (engine.Receipt{Request: request}); w.acted(&r) {
		millis, _ := binary.Uvarint(c.Args[headArg][hashSize:])
		r.Until = int64(millis) + ceilMillis(int64(tx.Now()))
		tx.PutReceipt(e, r)
	}
	return false, ""
}

// refuses returns an error if the id is a key of the request. stale is set if the request was made by rules
// that are not in force: then the decisions say so.
func (w *worker) refuses(tx *engine.Tx, id []byte) (wrong string, stale bool) {
	for i := range w.ops {
		if string(w.ops[i].Key) == string(id) {
			return errOwnKey, false
		}
	}
	if needs := &w.ops[0]; needs.Kind == engine.Needs && !isInForce(tx, needs) {
		w.fail(engine.Stale)
		return "", true
	}
	return "", false
}

// isInForce reports whether the documents that a Needs names are in force.
func isInForce(tx *engine.Tx, needs *engine.Op) bool {
	return tx.DocumentsVersion(engine.Space(needs.DB)) == uint64(needs.N)
}

// fail gives all decisions a status.
func (w *worker) fail(s engine.Status) {
	for i := range w.decisions {
		w.decisions[i].Status = s
	}
}

// members returns the ops except a Needs, and their decisions. grouped is set if they are a group.
func (w *worker) members() (ops []engine.Op, ds []engine.Decision, grouped bool) {
	if w.ops[0].Kind == engine.Needs {
		return w.ops[1:], w.decisions[1:], true
	}
	return w.ops, w.decisions, len(w.ops) > 1
}

// decide decides the request.
func (w *worker) decide(tx *engine.Tx) {
	ops, ds, grouped := w.members()
	if w.decideAs(tx, ops, ds, grouped); len(ds) < len(w.decisions) {
		w.decisions[0] = engine.Decision{Allowed: 1, Changed: ds[0].Changed}
	}
}

// decideAs decides ops, as a group if grouped is set.
func (w *worker) decideAs(tx *engine.Tx, ops []engine.Op, ds []engine.Decision, grouped bool) {
	w.batch.Ops = append(w.batch.Ops[:0], ops...)
	w.batch.Ops[0].Group = 0
	if grouped {
		w.batch.Ops[0].Group = uint8(len(ops))
	}
	tx.Decide(&w.batch)
	copy(ds, w.batch.Decisions)
}

// acted reports whether the decisions are remembered, and sets the fields of r that remember them: of a
// single op Allowed and, if the op has no parameters, the limit; of a group the members that alone would
// be denied.
func (w *worker) acted(r *engine.Receipt) bool {
	ops, ds, grouped := w.members()
	if w.batch.Looks() {
		return false
	}
	if !grouped {
		d := &ds[0]
		if r.Outcome = uint64(d.Allowed); ops[0].Params.Limit == 0 {
			r.Limit = d.Params.Limit
		}
		return d.Status == engine.OK && (d.Allowed > 0 || isSettling(&ops[0]))
	}
	settles, bit := false, 0
	for i := range ops {
		settles = settles || isSettling(&ops[i])
		if ops[i].Mode&engine.Guard != 0 {
			continue
		}
		if ds[i].Allowed == 0 {
			r.Outcome |= 1 << bit
		}
		bit++
	}
	return settles || ds[0].Status == engine.OK && engine.Passed(ops, ds)
}

// isSettling reports whether an op acts whatever the limit decides: a refund, a charge or a
// release.
func isSettling(op *engine.Op) bool {
	return op.Kind == engine.Refund || op.Kind == engine.Charge || op.Kind == engine.Release
}

// repeat sets the decisions on a request that has acted: Allowed is as then, all other fields are of
// now. A penalty box in it has no effect.
func (w *worker) repeat(tx *engine.Tx, r engine.Receipt) {
	ops, ds, grouped := w.members()
	settles, denied := false, r.Outcome
	w.decisions[0] = engine.Decision{Allowed: 1} // of a Needs
	for i := range ops {
		settles = settles || isSettling(&ops[i])
		if ops[i].Mode&engine.Guard != 0 {
			ds[i] = engine.Decision{Allowed: 1}
			continue
		}
		allowed := int64(r.Outcome)
		if grouped {
			allowed, denied = int64(^denied&1), denied>>1
		}
		w.look(tx, &ops[i], &ds[i], allowed, r.Limit)
	}
	if grouped && !settles && !engine.Passed(ops, ds) { // the rules have other limits now
		for i := range ds {
			allow(&ops[i], &ds[i], 1)
		}
	}
}

// look sets the decision on an op that has acted. limit is the limit of a key without parameters that
// is gone.
func (w *worker) look(tx *engine.Tx, op *engine.Op, d *engine.Decision, allowed, limit int64) {
	w.batch.Ops = append(w.batch.Ops[:0], looking(op, allowed))
	tx.Decide(&w.batch)
	*d = w.batch.Decisions[0]
	switch peeks := op.Kind == engine.Peek || op.Kind == engine.Release; {
	case d.Status == engine.OK || peeks && d.Status == engine.Missing:
	case op.Params.Limit > 0:
		*d = engine.Decision{Params: op.Params, Reset: d.Reset}
	default:
		*d = engine.Decision{Params: engine.Params{Limit: limit}, Remaining: limit}
	}
	allow(op, d, allowed)
}

// allow sets Allowed. A request that passed need not wait, unless its algorithm holds it.
func allow(op *engine.Op, d *engine.Decision, allowed int64) {
	d.Allowed = allowed
	takes := op.Kind == engine.Take || op.Kind == engine.Acquire
	if takes && allowed > 0 && !op.Params.Alg.Holds() {
		d.Wait = engine.Span{}
	}
}

// looking returns the op that looks at the key of an op that has acted.
func looking(op *engine.Op, allowed int64) engine.Op {
	x := engine.Op{Kind: op.Kind, Params: op.Params, Key: op.Key}
	switch op.Kind {
	case engine.Take:
		if allowed == 0 {
			x.LookFor(op.N)
		}
	case engine.Acquire:
		x.ID = op.ID
	case engine.Release:
		x.Kind = engine.Peek
	case engine.Charge:
		x.Mode = engine.Fit
	case engine.Refund:
		if op.Params.Limit > 0 { // a Refund does not know the limit of a key that is gone
			x.Kind = engine.Take
			x.LookFor(1)
		}
	}
	return x
}
