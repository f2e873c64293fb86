package reservations

import (
	"encoding/binary"
	"fmt"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/siphash"
)

// The states in answers.
const (
	wordOpen      = "open"
	wordCommitted = "committed"
	wordCanceled  = "canceled"
	wordExpired   = "expired"
	wordLate      = "late"
	wordLimited   = "limited"
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

// Reserved appends a call that looks at the reservation of an id.
func Reserved(b *engine.Batch, id []byte) { addCall(b, callReserved, id) }

func addCall(b *engine.Batch, number uint16, args ...[]byte) {
	c := b.AddCall(0)
	c.Command, c.ReadOnly = number, number == callReserved
	c.Args = append(c.Args, args...)
}

func readExtension(head []byte) (x Extension, ok bool) {
	r := reader{data: head}
	x.TTL, x.By, x.Keep = r.uvarint(), r.uvarint(), r.uvarint()
	return x, !r.bad && len(r.data) == 0 && x.TTL > 0 && x.TTL <= engine.MaxPeriod && x.By >= 0 &&
		x.By <= engine.MaxN && x.Keep >= 0 && x.Keep <= Unchanged
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

func checkExtend(c *engine.Call) error {
	if len(c.Args) != firstOp {
		return errCall
	}
	_, ok := readExtension(c.Args[headArg])
	return checkHead(c, ok)
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
	if !there {
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
		same := c.Command == callCommit && sumOf(c.Args[headArg]) == r.settled
		answerState(c, same, wordCommitted, r.outcome, 0)
	case r.expired(tx.Now()) && c.Command != callCommit:
		answerState(c, false, wordExpired, r.kept(r.first()), 0)
	default:
		return r, true
	}
	return nil, false
}

// sumOf returns the hash of the numbers of a call of Commit.
func sumOf(head []byte) uint64 { return siphash.Key{}.Sum(head) }

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

// commit carries out a call of Commit: of each limit the oldest permits are used first, the rest is
// given back, and permits used beyond these are charged.
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
	late, id := r.expired(tx.Now()), tx.HashID(c.Args[idArg])
	for i := range r.limits {
		l := &r.limits[i]
		actual := w.actual[0]
		switch {
		case len(w.actual) > 1:
			actual = w.actual[i]
		case l.fixed:
			actual = r.total(l)
		}
		counted := r.total(l)
		if late {
			counted = r.kept(l)
		} else {
			r.settle(tx, id, l, actual)
		}
		w.charge(tx, l, actual-counted)
	}
	r.state, r.outcome, r.settled = isCommitted, w.actual[0], sumOf(c.Args[headArg])
	w.save(tx, c.Args[idArg])
	state := wordCommitted
	if late {
		state = wordLate
	}
	answerState(c, true, state, r.outcome, 0)
}

// settle ends the holds of a limit, of which so many permits were used.
func (r *record) settle(tx *engine.Tx, id uint64, l *limit, used int64) {
	var holds [maxLayers]engine.Hold
	some := holds[:0]
	for i := range r.layers {
		n := r.held(l, i)
		if n > 0 {
			some = append(some, r.hold(id, l, i, min(used, n)))
		}
		used -= min(used, n)
	}
	tx.Settle(l.key, some...)
}

// charge charges n permits, if that is more than 0, of a limit under its parameters of now, or under
// the parameters of the record if the key is gone. It has the bound of RL.CHARGE.
func (w *worker) charge(tx *engine.Tx, l *limit, n int64) {
	if n <= 0 {
		return
	}
	op := engine.Op{Kind: engine.Charge, Mode: engine.Fit, N: n, Key: l.key}
	if _, there := tx.Find(l.key); !there {
		op.Params = l.params
	}
	w.batch.Ops = append(w.batch.Ops[:0], op)
	tx.Decide(&w.batch)
}

// cancel carries out a call of Cancel.
func (w *worker) cancel(tx *engine.Tx, c *engine.Call) {
	r, ok := w.open(tx, c)
	if !ok {
		return
	}
	id := tx.HashID(c.Args[idArg])
	for i := range r.limits {
		r.settle(tx, id, &r.limits[i], 0)
	}
	r.state = isCanceled
	w.save(tx, c.Args[idArg])
	answerState(c, true, wordCanceled, 0, 0)
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
	w.reach(tx, tx.HashID(c.Args[idArg]), x.By > 0)
	w.save(tx, c.Args[idArg])
	answerState(c, true, wordOpen, r.total(r.first()), 0)
}

// more decides the ops that take n more permits of each variable limit. wrong is an error.
func (w *worker) more(tx *engine.Tx, r *record, n int64) (wrong string) {
	if len(r.layers) == maxLayers {
		return fmt.Sprintf("ERR a reservation is extended BY a number at most %d times", maxLayers-1)
	}
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
func (w *worker) reach(tx *engine.Tx, id uint64, fresh bool) {
	r := &w.record
	for i := range r.limits {
		l := &r.limits[i]
		keep := r.kept(l)
		for j := range r.layers {
			n := r.held(l, j)
			h := r.hold(id, l, j, min(keep, n))
			switch keep -= h.Keep; {
			case n == 0:
			case fresh && j == len(r.layers)-1:
				tx.Hold(l.key, h)
			default:
				tx.Reach(l.key, h)
			}
		}
	}
}

// reserved carries out a call of Reserved.
func (w *worker) reserved(tx *engine.Tx, c *engine.Call) {
	e, there := tx.Find(c.Args[idArg])
	if !there {
		c.Answer = answer.AppendNil(c.Answer)
		return
	}
	r, wrong := w.load(tx, e)
	if wrong != "" || r.state > isCanceled {
		c.Answer = answer.AppendError(c.Answer, errWrongType)
		return
	}
	now := tx.Now()
	state, n, keep, age, left := wordOpen, r.outcome, int64(0), int64(0), int64(0)
	switch {
	case r.state == isCommitted:
		state = wordCommitted
	case r.state == isCanceled:
		state = wordCanceled
	default:
		if n, keep = r.total(r.first()), r.kept(r.first()); r.expired(now) {
			state, n = wordExpired, keep
		}
		age, left = int64(now-r.layers[0].stamp), int64(max(0, r.end-now))
	}
	const ms = 1e6
	out := answer.AppendMap(c.Answer, 7)
	field := func(name string) { out = answer.AppendBulk(out, []byte(name)) }
	field("state")
	field(state)
	for _, x := range [...]struct {
		name string
		n    int64
	}{{"n", n}, {"keep", keep}, {"age_ms", age / ms}, {"ttl_ms", (left + ms - 1) / ms},
		{"remembered_ms", tx.Expiry(e) - now.Millis()}} {
		field(x.name)
		out = answer.AppendInt(out, x.n)
	}
	field("limits")
	out = answer.AppendArray(out, len(r.limits))
	for i := range r.limits {
		l := &r.limits[i]
		out = answer.AppendBulk(answer.AppendArray(out, 3), l.key)
		field(l.params.Alg.String())
		out = answer.AppendInt(out, r.total(l))
	}
	c.Answer = out
}
