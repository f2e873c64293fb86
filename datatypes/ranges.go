package datatypes

import (
	"limitsrv/answer"
	"limitsrv/engine"
)

func appendTo(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, has := findString(tx, args[0])
	if has == wrongType {
		return fail(out, errWrongType)
	}
	tx.Scratch = tx.Scratch[:0]
	var at int64
	if has == aString {
		if tx.Len(e)+len(args[1]) > engine.MaxValueBytes {
			return fail(out, errTooLong)
		}
		tx.Scratch, at = tx.Bytes(e, tx.Scratch), tx.Expiry(e)
	}
	tx.Scratch = append(tx.Scratch, args[1]...)
	if wrong := put(tx, e, has == aString, tx.Scratch, at); wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendInt(out, int64(len(tx.Scratch)))
}

func setRange(tx *engine.Tx, args [][]byte, out []byte) []byte {
	offset, ok := engine.ParseInt(args[1])
	switch {
	case !ok:
		return fail(out, errNotInt)
	case offset < 0:
		return fail(out, "ERR offset is out of range")
	}
	e, has := findString(tx, args[0])
	tx.Scratch = tx.Scratch[:0]
	var at int64
	switch {
	case has == wrongType:
		return fail(out, errWrongType)
	case has == aString:
		tx.Scratch, at = tx.Bytes(e, tx.Scratch), tx.Expiry(e)
	}
	if len(args[2]) == 0 {
		return answer.AppendInt(out, int64(len(tx.Scratch)))
	}
	if offset > engine.MaxValueBytes-int64(len(args[2])) {
		return fail(out, errTooLong)
	}
	for len(tx.Scratch) < int(offset)+len(args[2]) {
		tx.Scratch = append(tx.Scratch, 0)
	}
	copy(tx.Scratch[offset:], args[2])
	if wrong := put(tx, e, has == aString, tx.Scratch, at); wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendInt(out, int64(len(tx.Scratch)))
}

func getRange(tx *engine.Tx, args [][]byte, out []byte) []byte {
	from, ok := engine.ParseInt(args[1])
	to, ok2 := engine.ParseInt(args[2])
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
	n := int64(tx.Len(e))
	if from < 0 && to < 0 && from > to {
		return answer.AppendBulk(out, nil)
	}
	if from < 0 {
		from = max(n+from, 0)
	}
	if to < 0 {
		to = max(n+to, 0)
	}
	to = min(to, n-1)
	if from > to {
		return answer.AppendBulk(out, nil)
	}
	tx.Scratch = tx.Bytes(e, tx.Scratch[:0])
	return answer.AppendBulk(out, tx.Scratch[from:to+1])
}
