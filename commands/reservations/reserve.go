package reservations

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"strings"

	"limitsrv/commands/word"
	"limitsrv/engine"
)

// A Terms says how a reservation is held. A fixed limit has its permits taken until a cancel. The other
// limits are variable: KEEP, BY, PARTIAL and the numbers of a commit apply to them.
type Terms struct {
	TTL     int64  // nanoseconds until it expires
	Keep    int64  // permits of each variable limit that stay taken at the expiry; KeepAll: all
	Partial bool   // reserve the permits that are left of the limits
	Fixed   uint64 // a bit for each fixed limit, by its index among the limits, without guards
	Bare    bool   // the request, by rules, met no limit: its ops only ask for the version of the rules
	Request uint64 // a hash of the request
	// Names are the names of amounts that a CommitNamed may have, sorted, at most MaxNames, and Weights the weights
	// of these amounts in the order of the limits. Without Names the reservation is committed by numbers only.
	Names   [][]byte
	Weights []Weight
}

// KeepAll is the Terms.Keep that keeps all permits.
const KeepAll int64 = keepAll

// reserveHeadBytes is the greatest length of the head of a call of Reserve.
const reserveHeadBytes = hashSize + 1 + 3*binary.MaxVarintLen64

// The flags in the head of a call of Reserve.
const (
	isPartial = 1 << 0
	isBare    = 1 << 1
)

// Reserve replaces the ops of a batch from index first on, which are one request, by a call that reserves
// their permits under an id. The call refers to id and to the keys of the ops. Its head is the hash of
// the request in 8 bytes; a byte of flags; ttl, keep and fixed; and with Names the names and weights as
// appendNames writes them. Requires: the ops are Takes of at most
// engine.MaxGroup limits with different keys. By rules, a Needs precedes the ops, ops may have modes, there may
// be guards, and a fixed limit may have an Acquire with id as the holder. id has 1 to engine.MaxIDBytes bytes.
func Reserve(b *engine.Batch, first int, id []byte, t Terms) {
	var room [reserveHeadBytes]byte
	head := append(binary.LittleEndian.AppendUint64(room[:0], t.Request), 0)
	if t.Partial {
		head[hashSize] |= isPartial
	}
	if t.Bare {
		head[hashSize] |= isBare
	}
	head = binary.AppendUvarint(binary.AppendUvarint(head, uint64(t.TTL)), uint64(t.Keep))
	head = binary.AppendUvarint(head, t.Fixed)
	if len(t.Names) == 0 {
		wrap(b, first, callReserve, id, head)
		return
	}
	wrap(b, first, callReserveNamed, id, appendNames(head, t.Names, t.Weights))
}

// readTerms reads the head of a call of Reserve. names and weights are memory for the names and weights.
func readTerms(c *engine.Call, names [][]byte, weights []Weight) (t Terms, ok bool) {
	x := reader{data: c.Args[headArg]}
	t.Request = x.word()
	flags := x.byte()
	t.Partial, t.Bare = flags&isPartial != 0, flags&isBare != 0
	t.TTL, t.Keep = x.uvarint(), x.uvarint()
	t.Fixed = uint64(x.uvarint())
	if c.Command == callReserveNamed {
		t.Names, t.Weights = x.names(names, weights)
	}
	return t, !x.bad && len(x.data) == 0 && flags <= isPartial|isBare && t.TTL > 0 && t.TTL <= engine.MaxPeriod &&
		t.Keep >= 0 && t.Keep <= keepAll
}

func checkReserve(c *engine.Call) error {
	if err := checkForm(c, engine.MaxGroupOps); err != nil {
		return err
	}
	t, ok := readTerms(c, nil, nil)
	if !ok {
		return errCall
	}
	ops, err := readOps(nil, c)
	if err != nil {
		return err
	}
	byRules, members := ops[0].Kind == engine.Needs, ops
	if byRules {
		members = ops[1:]
	}
	seen, limits := make(map[string]bool, len(ops)), 0
	for i := range members {
		op := &members[i]
		leases := op.Kind == engine.Acquire && byRules && t.isFixed(limits) && bytes.Equal(op.ID, c.Args[idArg])
		if op.Kind != engine.Take && !leases || op.Params.Limit == 0 || seen[string(op.Key)] ||
			!byRules && (op.Mode != 0 || len(op.ID) > 0) {
			return errCall
		}
		if seen[string(op.Key)] = true; op.Mode != engine.Guard {
			limits++
		}
	}
	if c.Command == callReserveNamed && !byRules {
		return errCall
	}
	if n := len(t.Weights); n > 0 && (t.Bare || t.Weights[n-1].Limit >= limits) {
		return errCall
	}
	if limits == 0 || limits > engine.MaxGroup || t.Bare && (!byRules || len(members) != 1) {
		return errCall
	}
	return checkOps(ops)
}

// reserve applies a call of Reserve.
func (w *worker) reserve(tx *engine.Tx, c *engine.Call) {
	tx.AddWork(workPerLimit*((len(c.Args)-firstOp)/opArgs) + len(c.Args[headArg]))
	w.read(c)
	repeated, wrong := w.makeReservation(tx, c)
	w.countRequest(tx, c, repeated, wrong)
	w.answerDecisions(c, repeated, wrong)
}

// makeReservation sets the decisions. repeated is set if the request has acted before. wrong is an
// error.
func (w *worker) makeReservation(tx *engine.Tx, c *engine.Call) (repeated bool, wrong string) {
	id := c.Args[idArg]
	t, _ := readTerms(c, w.record.names[:0], w.weights[:0])
	if wrong, stale := w.refuses(tx, id); wrong != "" || stale {
		return false, wrong
	}
	e, there := tx.Find(id)
	if there {
		return true, w.repeatReservation(tx, e, id, &t)
	}
	if tx.Tight() {
		w.fail(engine.NoMemory)
		return false, ""
	}
	for l := range w.limits() {
		if !mayHold(tx, l.op) && !t.Bare {
			return false, fullOf("key " + word.Excerpt(l.op.Key))
		}
	}
	granted := int64(1)
	if t.Partial {
		granted = w.lower(tx, &t)
	}
	if t.Bare {
		w.pass()
	} else if !w.passes(tx) {
		return false, ""
	}
	w.store(tx, id, &t, granted)
	return false, ""
}

// countRequest counts a request with its outcome.
func (w *worker) countRequest(tx *engine.Tx, c *engine.Call, repeated bool, wrong string) {
	switch {
	case strings.HasPrefix(wrong, codeBusy):
		w.counts.Conflicts = 1
	case wrong != "":
		return
	case repeated:
		w.counts.Repeated = 1
	case w.decisions[0].Status == engine.Stale: // the request is asked again
		return
	case w.counts.Granted == 0:
		w.counts.Limited = 1
	}
	w.count(tx, c)
}

// count adds the counts of the call to the totals.
func (w *worker) count(tx *engine.Tx, c *engine.Call) {
	e, _ := tx.Find(c.Args[idArg])
	tx.CountReservations(e, &w.counts)
}

// repeatReservation answers a request under an id that exists.
func (w *worker) repeatReservation(tx *engine.Tx, e engine.Entry, id []byte, t *Terms) (wrong string) {
	switch r, wrong := w.load(tx, e); {
	case wrong != "":
		return wrong
	case r.state > isCanceled || r.request != t.Request:
		return busy(id, "is of another request")
	case r.state == isCanceled:
		return busy(id, "is of a reservation that was canceled")
	case r.expired(tx.Now()):
		return busy(id, "is of a reservation that has expired")
	}
	receipt := engine.Receipt{Outcome: w.record.denied}
	if _, _, grouped := w.members(); !grouped {
		receipt.Outcome = 1 // Allowed
	}
	w.repeat(tx, receipt)
	for l := range w.limits() {
		if l.d.Allowed > 0 {
			allow(l.op, l.d, t.granted(l.index, w.record.granted))
		}
	}
	return ""
}

// A member is a limit of the request: its number among the limits, its op and the decision on it.
type member struct {
	index int
	op    *engine.Op
	d     *engine.Decision
}

// limits yields the limits of the request, which are its ops without a Needs and without guards.
func (w *worker) limits() iter.Seq[member] {
	return func(yield func(member) bool) {
		ops, ds, _ := w.members()
		index := 0
		for i := range ops {
			if ops[i].Mode&engine.Guard != 0 {
				continue
			}
			if !yield(member{index, &ops[i], &ds[i]}) {
				return
			}
			index++
		}
	}
}

// mayHold reports whether the key of an op may have a further hold. A limit in shadow must not deny the
// request: if its key is full, mayHold turns its op into a look, so that it holds nothing, and returns true.
func mayHold(tx *engine.Tx, op *engine.Op) bool {
	switch {
	case tx.MayHold(op.Key):
	case op.Mode != engine.Shadow:
		return false
	case op.N > 0:
		op.LookFor(op.N)
		op.N = 0
	}
	return true
}

// fullOf is the error for a limit with MaxHolds holds.
func fullOf(limit string) string {
	return fmt.Sprintf("ERR %s has %d holds, which is the maximum: settle some reservations first", limit, engine.MaxHolds)
}

// codeBusy begins the error for an id of another request, or of a reservation that was canceled or has
// expired.
const codeBusy = "BUSYKEY"

func busy(id []byte, why string) string { return codeBusy + " id " + word.Excerpt(id) + " " + why }

// isFixed reports whether a limit is fixed.
func (t *Terms) isFixed(index int) bool { return t.Fixed>>index&1 != 0 }

// granted returns Decision.Allowed of a limit that passed: 1 for a fixed limit, otherwise the number of
// permits granted to the request.
func (t *Terms) granted(index int, granted int64) int64 {
	if t.isFixed(index) {
		return 1
	}
	return granted
}

// lower lowers the permits of the variable limits to the number that all of them have left, at least 1,
// and returns their number. Among AnyOf limits only the limit with the most permits left counts. Shadow
// limits do not count.
func (w *worker) lower(tx *engine.Tx, t *Terms) int64 {
	left, most, anyOf := int64(keepAll), int64(0), int64(-1)
	for l := range w.limits() {
		if t.isFixed(l.index) || l.op.N == 0 {
			continue
		}
		most = max(most, l.op.N)
		if l.op.Mode == engine.Shadow {
			continue
		}
		w.batch.Ops = append(w.batch.Ops[:0], engine.Op{Kind: engine.Take, Params: l.op.Params, Key: l.op.Key})
		tx.Decide(&w.batch)
		if has := w.batch.Decisions[0].Remaining; l.op.Mode == engine.AnyOf {
			anyOf = max(anyOf, has)
		} else {
			left = min(left, has)
		}
	}
	if anyOf >= 0 {
		left = min(left, anyOf)
	}
	left = max(1, min(left, most))
	for l := range w.limits() {
		if !t.isFixed(l.index) {
			l.op.N = min(l.op.N, left)
		}
	}
	return left
}

// passes decides the ops, and reports whether the request passed.
func (w *worker) passes(tx *engine.Tx) bool {
	w.decide(tx)
	return passed(w.members())
}

// pass lets all ops pass.
func (w *worker) pass() {
	for i := range w.decisions {
		w.decisions[i].Allowed = 1
	}
}

// passed reports whether a group or a single op has passed.
func passed(ops []engine.Op, ds []engine.Decision, _ bool) bool {
	for i := range ds {
		if s := ds[i].Status; s != engine.OK && (s != engine.NoMemory || ops[i].Mode != engine.Shadow) {
			return false
		}
	}
	return engine.Passed(ops, ds)
}

// store stores the reservation of a request that has taken its permits, and its holds.
func (w *worker) store(tx *engine.Tx, id []byte, t *Terms, granted int64) {
	r := &w.record
	*r = record{request: t.Request, granted: granted, end: tx.Now() + engine.Instant(t.TTL), keep: t.Keep,
		layers: append(r.layers[:0], layer{stamp: tx.Now()}), limits: r.limits[:0], names: t.Names, weights: r.weights[:0]}
	w.counts.Granted = 1
	hold := tx.HoldID(tx.HashID(id), 0)
	weights := t.Weights
	for m := range w.limits() {
		switch {
		case t.Bare:
			continue
		case m.d.Status != engine.OK || m.d.Allowed == 0:
			r.denied |= 1 << m.index
			continue
		}
		r.limits = append(r.limits, limit{index: len(r.limits), fixed: t.isFixed(m.index), mode: m.op.Mode,
			params: m.op.Params, n: m.op.N, key: m.op.Key})
		l := &r.limits[len(r.limits)-1]
		weights = r.weigh(weights, m.index)
		switch m.d.Allowed = t.granted(m.index, granted); {
		case m.op.N == 0:
		case l.isLease():
			w.lend(tx, id, l, m.d)
		default:
			tx.Hold(m.op.Key, r.hold(hold, l, 0, r.kept(l)))
			w.counts.Reserved += m.op.N
		}
	}
	w.save(tx, id)
}

// hold returns the hold of a limit in a layer that keeps so many permits. id is the ID of the layer's
// holds.
func (r *record) hold(id uint64, l *limit, layer int, keep int64) engine.Hold {
	return engine.Hold{ID: id, Stamp: r.layers[layer].stamp, N: r.held(l, layer), Keep: keep, End: r.end}
}

// load reads the record of an entry. wrong is an error.
func (w *worker) load(tx *engine.Tx, e engine.Entry) (r *record, wrong string) {
	text, ok := tx.Record(e, w.text[:0])
	w.text = text
	switch {
	case !ok && e.Alg() == engine.IDReceipt:
		w.record = record{state: isCanceled + 1}
		return &w.record, ""
	case !ok || !w.record.read(w.text):
		return nil, errWrongType
	}
	return &w.record, ""
}

// save stores the record of an id.
func (w *worker) save(tx *engine.Tx, id []byte) {
	e, _ := tx.Find(id)
	w.answer = w.record.append(w.answer[:0])
	tx.PutRecord(e, w.answer, w.record.until(tx.Now()))
}
