package reservations

import (
	"encoding/binary"
	"fmt"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/siphash"
)

// States in answers.
const (
	// Committed is the state of a reservation that was committed.
	Committed = "committed"
	// Limited is the state in the answer to an extension that a limit denies.
	Limited = "limited"

	wordOpen     = "open"
	wordCanceled = "canceled"
	wordExpired  = "expired"
	wordLate     = "late"
)

// Commit appends a call that settles the reservation of an id: with one number of permits for all
// variable limits, or a number for each limit. The head has the numbers.
func Commit(b *engine.Batch, id []byte, actual []int64) {
	var head []byte
	for _, n := range actual {
		head = binary.AppendUvarint(head, uint64(n))
	}
	addCall(b, callCommit, id, head)
}

// Cancel appends a call that gives the reservation of an id back.
func Cancel(b *engine.Batch, id []byte) { addCall(b, callCancel, id) }

func addCall(b *engine.Batch, number uint16, args ...[]byte) {
	c := b.AddCall(0)
	c.Command, c.ReadOnly = number, kindOf(number).readOnly
	c.Args = append(c.Args, args...)
}

// readActual appends the numbers of a call of Commit to dst.
func readActual(dst []int64, head []byte) (actual []int64, ok bool) {
	r := reader{data: head}
	for len(r.data) > 0 {
		n := r.uvarint()
		if n < 0 || n > engine.MaxN {
			return nil, false
		}
		dst = append(dst, n)
	}
	return dst, !r.bad && len(dst) > 0 && len(dst) <= engine.MaxGroup
}

func checkID(c *engine.Call) error {
	if len(c.Args) != 1 || !isKey(c.Args[idArg]) {
		return errCall
	}
	return nil
}

func checkHead(c *engine.Call, good bool) error {
	if !good || !isKey(c.Args[idArg]) {
		return errCall
	}
	return nil
}

func checkCommit(c *engine.Call) error {
	if len(c.Args) != firstOp {
		return errCall
	}
	_, ok := readActual(nil, c.Args[headArg])
	return checkHead(c, ok)
}

// open loads the record of the id of a call. If that is no open reservation, it answers the call, and
// ok is false. An expired reservation is open for a Commit.
func (w *worker) open(tx *engine.Tx, c *engine.Call) (r *record, ok bool) {
	e, there := tx.Find(c.Args[idArg])
	if w.id = e; !there {
		c.Answer = answer.AppendNilArray(c.Answer)
		return nil, false
	}
	r, wrong := w.load(tx, e)
	switch {
	case wrong != "" || r.state > isCanceled:
		c.Answer = answer.AppendError(c.Answer, errWrongType)
	case r.state == isCanceled:
		answerState(c, c.Command == callCancel, wordCanceled, 0, 0)
	case r.state == isCommitted:
		same := isCommit(c) && sumOf(c) == r.settled
		answerState(c, same, Committed, r.outcome, 0)
	case r.expired(tx.Now()) && !isCommit(c):
		answerState(c, false, wordExpired, r.kept(r.first()), 0)
	default:
		return r, true
	}
	return nil, false
}

// isCommit reports whether a call is of Commit or of CommitNamed.
func isCommit(c *engine.Call) bool { return c.Command == callCommit || c.Command == callCommitNamed }

// sumOf returns the hash of the numbers of a call of Commit, or of the amounts of a call of CommitNamed.
func sumOf(c *engine.Call) uint64 {
	if c.Command == callCommitNamed {
		return namedSums.Sum(c.Args[headArg])
	}
	return siphash.Key{}.Sum(c.Args[headArg])
}

// answerState answers [done, state, n, wait_ms].
func answerState(c *engine.Call, done bool, state string, n, wait int64) {
	c.Answer = answer.AppendArray(c.Answer, 4)
	one := int64(0)
	if done {
		one = 1
	}
	c.Answer = answer.AppendInt(c.Answer, one)
	c.Answer = answer.AppendBulk(c.Answer, []byte(state))
	c.Answer = answer.AppendInt(answer.AppendInt(c.Answer, n), wait)
}

// commit applies a call of Commit: of each limit the oldest permits are used first, the rest is
// given back, and permits used beyond the reservation are charged.
// A limit has no part in the permits of an extension that it missed. A lease ends, and the number for its limit has
// no effect.
func (w *worker) commit(tx *engine.Tx, c *engine.Call) {
	r, ok := w.open(tx, c)
	if !ok {
		return
	}
	w.actual, _ = readActual(w.actual[:0], c.Args[headArg])
	if n := len(w.actual); n != 1 && n != len(r.limits) {
		c.Answer = answer.AppendError(c.Answer, fmt.Sprintf(
			"ERR RL.COMMIT takes 1 number for all variable limits, or %d, one for each limit, got %d", len(r.limits), n))
		return
	}
	w.used = w.used[:0]
	for i := range r.limits {
		l, n := &r.limits[i], w.actual[0]
		switch {
		case len(w.actual) > 1:
			n = w.actual[i]
		case l.fixed:
			n = r.total(l)
		default:
			n -= r.missed(l, n)
		}
		w.used = append(w.used, n)
	}
	outcome := w.actual[0]
	if len(w.actual) > 1 {
		outcome = w.actual[r.first().index]
	}
	w.finish(tx, c, outcome)
}

// finish commits the reservation that open has loaded with w.used, and answers outcome.
func (w *worker) finish(tx *engine.Tx, c *engine.Call, outcome int64) {
	r := &w.record
	w.prepare(tx, c.Args[idArg])
	late := r.expired(tx.Now())
	for i := range r.limits {
		l := &r.limits[i]
		if l.isLease() {
			w.endLease(tx, c.Args[idArg], l)
			continue
		}
		counted, actual := r.total(l), w.used[i]
		if late {
			counted = r.kept(l)
		} else {
			w.settle(tx, l, actual)
		}
		w.counts.Used += min(actual, counted)
		w.charge(tx, l, actual-counted)
	}
	r.state, r.outcome, r.settled = isCommitted, outcome, sumOf(c)
	w.save(tx, c.Args[idArg])
	state := Committed
	if late {
		state, w.counts.Late = wordLate, 1
	} else {
		w.counts.Committed = 1
	}
	w.count(tx, c)
	answerState(c, true, state, r.outcome, 0)
}

// prepare sets w.holds, and counts the work to visit all layers of all limits.
func (w *worker) prepare(tx *engine.Tx, id []byte) {
	r := &w.record
	tx.AddWork(len(r.limits) * (workPerLimit + workPerHold*len(r.layers)))
	hash := tx.HashID(id)
	w.holds = w.holds[:0]
	for i := range r.layers {
		w.holds = append(w.holds, tx.HoldID(hash, i))
	}
}

// settle ends the holds of a limit, of which so many permits were used.
func (w *worker) settle(tx *engine.Tx, l *limit, used int64) {
	r := &w.record
	var holds [maxLayers]engine.Hold
	some := holds[:0]
	for i := range r.layers {
		n := r.held(l, i)
		if n > 0 {
			some = append(some, r.hold(w.holds[i], l, i, min(used, n)))
		}
		used -= min(used, n)
	}
	_, unused := tx.Settle(l.key, some...)
	w.counts.GivenBack += unused
}

// charge charges n permits, if that is more than 0, of a limit under its parameters of now, or under
// the parameters of the record if the key is gone. It has the bound of RL.CHARGE.
//
// charge may create the key even when memory is full. This is bounded: a settlement creates at most the keys
// of its reservation, and the record shrinks by at least these keys.
func (w *worker) charge(tx *engine.Tx, l *limit, n int64) {
	if n <= 0 {
		return
	}
	op := engine.Op{Kind: engine.Charge, Mode: engine.Fit | engine.Partial, N: n, Key: l.key}
	if _, there := tx.Find(l.key); !there {
		op.Params = l.params
	}
	w.batch.Ops = append(w.batch.Ops[:0], op)
	tx.DecideForced(&w.batch)
	d := &w.batch.Decisions[0]
	if d.Status != engine.OK { // the key is of another kind now
		tx.CountChargesCut(w.id, 1)
		return
	}
	w.counts.Beyond += d.Allowed
}

// cancel applies a call of Cancel.
func (w *worker) cancel(tx *engine.Tx, c *engine.Call) {
	r, ok := w.open(tx, c)
	if !ok {
		return
	}
	w.prepare(tx, c.Args[idArg])
	for i := range r.limits {
		if l := &r.limits[i]; l.isLease() {
			w.endLease(tx, c.Args[idArg], l)
		} else {
			w.settle(tx, l, 0)
		}
	}
	r.state, w.counts.Canceled = isCanceled, 1
	w.save(tx, c.Args[idArg])
	w.count(tx, c)
	answerState(c, true, wordCanceled, 0, 0)
}
