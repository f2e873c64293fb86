package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

func appendTo(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, has := findString(tx, args[0])
	length := 0
	switch has {
	case wrongType:
		return fail(out, errWrongType)
	case aString:
		length = tx.Len(e)
	}
	return write(tx, e, length, int64(length), args[1], out)
}

// write overwrites the bytes of a string of some length from an offset on, and answers the
// new length.
func write(tx *engine.Tx, e engine.Entry, length int, at int64, b []byte, out []byte) []byte {
	if at > engine.MaxValueBytes-int64(len(b)) {
		return fail(out, errTooLong)
	}
	if _, ok := tx.Write(e, int(at), b); !ok {
		return fail(out, errFull)
	}
	return answer.AppendInt(out, max(int64(length), at+int64(len(b))))
}

func setRange(tx *engine.Tx, args [][]byte, out []byte) []byte {
	offset, ok := numbers.ParseInt(args[1])
	switch {
	case !ok:
		return fail(out, errNotInt)
	case offset < 0:
		return fail(out, "ERR offset is out of range")
	}
	e, has := findString(tx, args[0])
	length := 0
	switch has {
	case wrongType:
		return fail(out, errWrongType)
	case aString:
		length = tx.Len(e)
	}
	if len(args[2]) == 0 {
		return answer.AppendInt(out, int64(length))
	}
	return write(tx, e, length, offset, args[2], out)
}

func getRange(tx *engine.Tx, args [][]byte, out []byte) []byte {
	from, ok := numbers.ParseInt(args[1])
	to, ok2 := numbers.ParseInt(args[2])
	if !ok || !ok2 {
		return fail(out, errNotInt)
	}
	e, has := findString(tx, args[0])
	switch has {
	case nothing:
		return answer.AppendBulk(out, nil)
	case wrongType:
		return fail(out, errWrongType)
	}
	if from, to, ok = rangeOf(from, to, int64(tx.Len(e))); !ok {
		return answer.AppendBulk(out, nil)
	}
	n := int(to - from)
	if most := limitFor(tx, out, 1, 0); !most.fits(out, n) {
		return most.tooLong(out, n)
	}
	return tx.Range(e, int(from), int(to), answer.AppendBulkHead(out, n))
}

// rangeOf returns the part of a string of n bytes or bits from an up to before another, for
// the first and last of a command, which count from the end if they are negative. ok is
// false if it is empty.
func rangeOf(first, last, n int64) (from, to int64, ok bool) {
	if first < 0 && last < 0 && first > last {
		return 0, 0, false
	}
	if first < 0 {
		first = max(n+first, 0)
	}
	if last < 0 {
		last = max(n+last, 0)
	}
	last = min(last, n-1)
	return first, last + 1, first <= last
}
