package reservations

import (
	"encoding/binary"
	"strconv"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// Reserved appends a call that looks at the reservation of an id.
func Reserved(b *engine.Batch, id []byte) { addCall(b, callReserved, id) }

// ReservedOf appends a call that looks at the open reservations of a limit, at most count holds from
// a cursor on. The cursor is the number of holds that are left to look at; 0 looks at the newest first.
func ReservedOf(b *engine.Batch, key []byte, cursor, count int64) {
	addCall(b, callReservedOf, key, binary.AppendUvarint(binary.AppendUvarint(nil, uint64(cursor)), uint64(count)))
}

// MaxCount bounds the count of ReservedOf.
const MaxCount = 1000

// readPart reads the head of a call of ReservedOf.
func readPart(head []byte) (cursor, count int64, ok bool) {
	r := reader{data: head}
	cursor, count = r.uvarint(), r.uvarint()
	return cursor, count, !r.bad && len(r.data) == 0 && cursor >= 0 && count >= 1 && count <= MaxCount
}

func checkReservedOf(c *engine.Call) error {
	if len(c.Args) != firstOp {
		return errCall
	}
	_, _, ok := readPart(c.Args[headArg])
	return checkHead(c, ok)
}

// reservedOf applies a call of ReservedOf: [cursor, [[id, n, keep, age_ms, ttl_ms], ...]], with a
// row for the permits of one call. An id that is forgotten is nil.
func (w *worker) reservedOf(tx *engine.Tx, c *engine.Call) {
	cursor, count, _ := readPart(c.Args[headArg])
	tx.AddWork(int(count) * workPerHeld)
	rows, out := 0, w.answer[:0]
	older := tx.Held(c.Args[idArg], int(min(cursor, engine.MaxHolds)), int(count), func(id []byte, h engine.Hold) {
		rows++
		if out = answer.AppendArray(out, 5); id == nil {
			out = answer.AppendNil(out)
		} else {
			out = answer.AppendBulk(out, id)
		}
		for _, n := range [...]int64{h.N, h.Keep, int64(tx.Now()-h.Stamp) / ms, ceilMillis(int64(h.End - tx.Now()))} {
			out = answer.AppendInt(out, n)
		}
	})
	c.Answer = answer.AppendBulk(answer.AppendArray(c.Answer, 2), strconv.AppendInt(nil, int64(older), 10))
	c.Answer = append(answer.AppendArray(c.Answer, rows), out...)
	w.answer = out
}

// reserved applies a call of Reserved.
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
	tx.AddWork(len(r.limits) * (workPerLimit + len(r.layers)))
	now := tx.Now()
	state, n, keep, age, left := wordOpen, r.outcome, int64(0), int64(0), int64(0)
	switch {
	case r.state == isCommitted:
		state = Committed
	case r.state == isCanceled:
		state = wordCanceled
	default:
		if n, keep = r.total(r.first()), r.kept(r.first()); r.expired(now) {
			state, n = wordExpired, keep
		}
		age, left = int64(now-r.layers[0].stamp), int64(max(0, r.end-now))
	}
	out := answer.AppendMap(c.Answer, 7)
	field := func(name string) { out = answer.AppendBulk(out, []byte(name)) }
	field("state")
	field(state)
	for _, x := range [...]struct {
		name string
		n    int64
	}{{"n", n}, {"keep", keep}, {"age_ms", age / ms}, {"ttl_ms", ceilMillis(left)},
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
