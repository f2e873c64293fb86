package reservations

import (
	"encoding/binary"
	"fmt"
	"strings"

	"limitsrv/commands/word"
	"limitsrv/engine"
)

// A Terms says how a reservation is held.
type Terms struct {
	TTL     int64  // nanoseconds until it expires
	Keep    int64  // permits of each variable limit that stay taken then; KeepAll: all
	Partial bool   // reserve the permits that are left of the limits
	Fixed   uint64 // a bit for each fixed limit, by its index
	Request uint64 // a hash of the request
}

// KeepAll is the Terms.Keep that keeps all permits.
const KeepAll int64 = keepAll

// reserveHeadBytes is the greatest length of the head of a call of Reserve.
const reserveHeadBytes = hashSize + 1 + 3*binary.MaxVarintLen64

// Reserve replaces the ops of a batch from index first on, Takes of one request, by a call that reserves
// their permits under an id. The call refers to id and to the keys of the ops. Its head is the hash of
// the request in 8 bytes; 1 for a partial request; ttl, keep and fixed. Requires: at most
// engine.MaxGroup ops with different keys; id has 1 to engine.MaxIDBytes bytes.
func Reserve(b *engine.Batch, first int, id []byte, t Terms) {
	head := make([]byte, 0, reserveHeadBytes)
	head = append(binary.LittleEndian.AppendUint64(head, t.Request), 0)
	if t.Partial {
		head[hashSize] = 1
	}
	head = binary.AppendUvarint(binary.AppendUvarint(head, uint64(t.TTL)), uint64(t.Keep))
	wrap(b, first, callReserve, id, binary.AppendUvarint(head, t.Fixed))
}

// readTerms reads the head of a call of Reserve.
func readTerms(head []byte) (t Terms, ok bool) {
	x := reader{data: head}
	t.Request = x.word()
	partial := x.byte()
	t.Partial = partial == 1
	t.TTL, t.Keep = x.uvarint(), x.uvarint()
	t.Fixed = uint64(x.uvarint())
	return t, !x.bad && len(x.data) == 0 && partial <= 1 && t.TTL > 0 && t.TTL <= engine.MaxPeriod && t.Keep >= 0 &&
		t.Keep <= keepAll
}

func checkReserve(c *engine.Call) error {
	if err := checkForm(c, engine.MaxGroup); err != nil {
		return err
	}
	if _, ok := readTerms(c.Args[headArg]); !ok {
		return errCall
	}
	ops, err := readOps(nil, c)
	if err != nil {
		return err
	}
	seen := make(map[string]bool, len(ops))
	for i := range ops {
		op := &ops[i]
		if op.Kind != engine.Take || op.Mode != 0 || len(op.ID) > 0 || op.Params.Limit == 0 || seen[string(op.Key)] {
			return errCall
		}
		seen[string(op.Key)] = true
	}
	return checkOps(ops)
}

// reserve carries out a call of Reserve.
func (w *worker) reserve(tx *engine.Tx, c *engine.Call) {
	tx.AddWork(workPerLimit * ((len(c.Args) - firstOp) / opArgs))
	w.read(c)
	repeated, wrong := w.makeReservation(tx, c)
	w.countRequest(tx, c, repeated, wrong)
	w.answerDecisions(c, repeated, wrong)
}

// makeReservation sets the decisions. repeated is set if the request has acted before. wrong is an
// error.
func (w *worker) makeReservation(tx *engine.Tx, c *engine.Call) (repeated bool, wrong string) {
	id := c.Args[idArg]
	t, _ := readTerms(c.Args[headArg])
	for i := range w.ops {
		if string(w.ops[i].Key) == string(id) {
			return false, errOwnKey
		}
	}
	e, there := tx.Find(id)
	if there {
		return true, w.repeatReservation(tx, e, id, &t)
	}
	if tx.Tight() {
		w.fail(engine.NoMemory)
		return false, ""
	}
	for i := range w.ops {
		if key := w.ops[i].Key; !tx.MayHold(key) {
			return false, fullOf(key)
		}
	}
	granted := int64(1)
	if t.Partial {
		granted = w.lower(tx, &t)
	}
	if !w.passes(tx) {
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
	case w.passed():
		w.counts.Granted = 1
	default:
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
	w.repeat(tx, engine.Receipt{Outcome: uint64(1 - min(1, len(w.ops)-1))}) // of a group the denied members
	for i := range w.ops {
		allow(&w.ops[i], &w.decisions[i], w.granted(t, i, w.record.granted))
	}
	return ""
}

// fullOf is the error for a key with MaxHolds holds.
func fullOf(key []byte) string {
	return fmt.Sprintf("ERR %s has %d open reservations, a key has at most as many", word.Excerpt(key), engine.MaxHolds)
}

// codeBusy begins the error for an id of another request.
const codeBusy = "BUSYKEY"

func busy(id []byte, why string) string { return codeBusy + " id " + word.Excerpt(id) + " " + why }

// granted returns Allowed of op i of a request that passed, of which so many permits were granted.
func (w *worker) granted(t *Terms, i int, granted int64) int64 {
	if t.Fixed>>i&1 != 0 {
		return 1
	}
	return granted
}

// lower lowers the permits of the variable limits to the number that all of them have left, at least 1,
// and returns their number.
func (w *worker) lower(tx *engine.Tx, t *Terms) int64 {
	left, most := int64(keepAll), int64(0)
	for i := range w.ops {
		op := &w.ops[i]
		if t.Fixed>>i&1 != 0 || op.N == 0 {
			continue
		}
		w.batch.Ops = append(w.batch.Ops[:0], engine.Op{Kind: engine.Take, Params: op.Params, Key: op.Key})
		tx.Decide(&w.batch)
		left, most = min(left, w.batch.Decisions[0].Remaining), max(most, op.N)
	}
	left = max(1, min(left, most))
	for i := range w.ops {
		if op := &w.ops[i]; t.Fixed>>i&1 == 0 {
			op.N = min(op.N, left)
		}
	}
	return left
}

// passes decides the ops, and reports whether all permits were taken.
func (w *worker) passes(tx *engine.Tx) bool {
	w.decide(tx)
	return w.passed()
}

// passed reports whether all decisions allow.
func (w *worker) passed() bool {
	for i := range w.decisions {
		if d := &w.decisions[i]; d.Status != engine.OK || d.Allowed == 0 {
			return false
		}
	}
	return true
}

// store stores the reservation of a request that has taken its permits, and its holds.
func (w *worker) store(tx *engine.Tx, id []byte, t *Terms, granted int64) {
	r := &w.record
	*r = record{request: t.Request, granted: granted, end: tx.Now() + engine.Instant(t.TTL), keep: t.Keep,
		layers: append(r.layers[:0], layer{stamp: tx.Now()}), limits: r.limits[:0]}
	hold := tx.HoldID(tx.HashID(id), 0)
	for i := range w.ops {
		op, fixed := &w.ops[i], t.Fixed>>i&1 != 0
		r.limits = append(r.limits, limit{fixed: fixed, params: op.Params, n: op.N, key: op.Key})
		if w.decisions[i].Allowed = w.granted(t, i, granted); op.N > 0 {
			l := &r.limits[i]
			tx.Hold(op.Key, r.hold(hold, l, 0, r.kept(l)))
			w.counts.Reserved += op.N
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
