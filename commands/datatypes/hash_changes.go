package datatypes

import (
	"math"
	"slices"
	"strconv"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// workOfField is the work to set a field. Deleting a field takes half of it.
const workOfField = 8

func hSet(tx *engine.Tx, args [][]byte, out []byte) []byte {
	if len(args)%2 == 0 {
		return fail(out, errArity("hset"))
	}
	added, wrong := setFields(tx, args[0], args[1:])
	if wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendInt(out, added)
}

func hMSet(tx *engine.Tx, args [][]byte, out []byte) []byte {
	if len(args)%2 == 0 {
		return fail(out, errArity("hmset"))
	}
	if _, wrong := setFields(tx, args[0], args[1:]); wrong != "" {
		return fail(out, wrong)
	}
	return append(out, answer.OK...)
}

func hSetNX(tx *engine.Tx, args [][]byte, out []byte) []byte {
	h, _, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	if _, has := h.Get(args[1]); has {
		return answer.AppendInt(out, 0)
	}
	if _, wrong := setFields(tx, args[0], args[1:]); wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendInt(out, 1)
}

// setFields sets fields to values, which follow each other, and returns the number of new
// fields.
func setFields(tx *engine.Tx, key []byte, pairs [][]byte) (added int64, wrong string) {
	h, e, ok := findHash(tx, key)
	if !ok {
		return 0, errWrongType
	}
	if wrong := checkSizes(h.Count, len(pairs)/2, pairs); wrong != "" {
		return 0, wrong
	}
	if tx.Tight() && fieldsGrow(&h, pairs) {
		return 0, errFull
	}
	charge(tx, len(pairs)/2*workOfField)
	h.Reserve(len(pairs) / 2)
	for i := 0; i < len(pairs); i += 2 {
		if h.Set(pairs[i], pairs[i+1]) {
			added++
		}
	}
	tx.Keep(e, engine.Hash, h.Head)
	return added, ""
}

// fieldsGrow reports whether a field is new or gets a longer value.
func fieldsGrow(h *values.Hash, pairs [][]byte) bool {
	for i := 0; i < len(pairs); i += 2 {
		if old, has := h.Get(pairs[i]); !has || old.Len() < len(pairs[i+1]) {
			return true
		}
	}
	return false
}

func hDel(tx *engine.Tx, args [][]byte, out []byte) []byte {
	h, e, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	charge(tx, 2*workOfField*(len(args)-1))
	n := int64(0)
	for _, field := range args[1:] {
		if h.Delete(field) {
			n++
		}
	}
	if n > 0 {
		tx.Keep(e, engine.Hash, h.Head)
	}
	return answer.AppendInt(out, n)
}

func hIncrBy(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n, ok := numbers.ParseInt(args[2])
	if !ok {
		return fail(out, errNotInt)
	}
	h, e, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	value, has := h.Get(args[1])
	var old int64
	if has {
		if old, ok = value.Int(); !ok {
			return fail(out, "ERR hash value is not an integer")
		}
	}
	if n < 0 && old < math.MinInt64-n || n > 0 && old > math.MaxInt64-n {
		return fail(out, "ERR increment or decrement would overflow")
	}
	var b [numbers.MaxIntBytes]byte
	if wrong := setNumber(tx, &h, e, args[1], has, strconv.AppendInt(b[:0], old+n, 10)); wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendInt(out, old+n)
}

// setNumber sets a field to the text of a number. has tells whether the hash has the field:
// then the text may grow in a Tight batch, as INCR's may.
func setNumber(tx *engine.Tx, h *values.Hash, e engine.Entry, field []byte, has bool, number []byte) (wrong string) {
	if !has {
		if tx.Tight() {
			return errFull
		}
		if wrong := checkSizes(h.Count, 1, [][]byte{field}); wrong != "" {
			return wrong
		}
	}
	h.Set(field, number)
	tx.Keep(e, engine.Hash, h.Head)
	return ""
}

func hIncrByFloat(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n, ok := parseFloat(tx, args[2])
	switch {
	case !ok:
		return fail(out, errNotFloat)
	case !n.Finite():
		return fail(out, "ERR value is NaN or Infinity")
	}
	h, e, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	old, has := h.Get(args[1])
	if has {
		const wrong = "ERR hash value is not a float"
		if old.Len() >= numbers.MaxExtendedBytes {
			return fail(out, wrong)
		}
		tx.Scratch = old.Append(tx.Scratch[:0])
		value, ok := parseFloat(tx, tx.Scratch)
		if !ok {
			return fail(out, wrong)
		}
		n = value.Add(n)
	}
	if !n.Finite() {
		return fail(out, "ERR increment would produce NaN or Infinity")
	}
	tx.Scratch = n.AppendHuman(slices.Grow(tx.Scratch[:0], usualFloat))
	charge(tx, n.Work()+workToParse(len(tx.Scratch)))
	if wrong := setNumber(tx, &h, e, args[1], has, tx.Scratch); wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendBulk(out, tx.Scratch)
}
