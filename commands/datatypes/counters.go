package datatypes

import (
	"math"
	"slices"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

func incr(tx *engine.Tx, args [][]byte, out []byte) []byte { return add(tx, args[0], 1, out) }

func decr(tx *engine.Tx, args [][]byte, out []byte) []byte { return add(tx, args[0], -1, out) }

func incrBy(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n, ok := numbers.ParseInt(args[1])
	if !ok {
		return fail(out, errNotInt)
	}
	return add(tx, args[0], n, out)
}

func decrBy(tx *engine.Tx, args [][]byte, out []byte) []byte {
	n, ok := numbers.ParseInt(args[1])
	switch {
	case !ok:
		return fail(out, errNotInt)
	case n == math.MinInt64:
		return fail(out, "ERR decrement would overflow")
	}
	return add(tx, args[0], -n, out)
}

// add adds n to the number of a key.
func add(tx *engine.Tx, key []byte, n int64, out []byte) []byte {
	e, has := findString(tx, key)
	var old, at int64
	switch has {
	case wrongType:
		return fail(out, errWrongType)
	case aString:
		var ok bool
		if old, ok = tx.Int(e); !ok {
			return fail(out, errNotInt)
		}
		at = tx.Expiry(e)
	}
	if n < 0 && old < math.MinInt64-n || n > 0 && old > math.MaxInt64-n {
		return fail(out, "ERR increment or decrement would overflow")
	}
	if _, ok := tx.PutInt(e, old+n, at); !ok {
		return fail(out, errFull)
	}
	return answer.AppendInt(out, old+n)
}

// usualFloat is longer than most numbers of INCRBYFLOAT.
const usualFloat = 48

func incrByFloat(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, has := findString(tx, args[0])
	var (
		value numbers.Extended
		at    int64
		ok    = true
	)
	switch has {
	case wrongType:
		return fail(out, errWrongType)
	case aString:
		if tx.Scratch, ok = floatText(tx, e, tx.Scratch[:0]); ok {
			value, ok = parseFloat(tx, tx.Scratch)
		}
		at = tx.Expiry(e)
	}
	if ok {
		var n numbers.Extended
		if n, ok = parseFloat(tx, args[1]); ok {
			value = value.Add(n)
		}
	}
	if !ok {
		return fail(out, errNotFloat)
	}
	if !value.Finite() {
		return fail(out, "ERR increment would produce NaN or Infinity")
	}
	tx.Scratch = value.AppendHuman(slices.Grow(tx.Scratch[:0], usualFloat))
	charge(tx, value.Work()+workToParse(len(tx.Scratch)))
	if wrong := put(tx, e, has == aString, tx.Scratch, at); wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendBulk(out, tx.Scratch)
}
