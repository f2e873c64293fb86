package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
)

// findHash finds the hash of a key, which may be empty. ok is false if the key has another
// value.
func findHash(tx *engine.Tx, key []byte) (h values.Hash, e engine.Entry, ok bool) {
	if e, ok = findRow(tx, key, engine.Hash); ok {
		h = tx.Hash(e)
	}
	return h, e, ok
}

func hGet(tx *engine.Tx, args [][]byte, out []byte) []byte {
	h, _, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	if value, has := h.Get(args[1]); has {
		return appendOne(tx, out, value)
	}
	return answer.AppendNil(out)
}

func hMGet(tx *engine.Tx, args [][]byte, out []byte) []byte {
	h, _, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	charge(tx, workOfField*(len(args)-1))
	most := limitFor(tx, out, len(args)-1, 0)
	out = answer.AppendArray(out, len(args)-1)
	for _, field := range args[1:] {
		value, has := h.Get(field)
		switch {
		case !has:
			out = answer.AppendNil(out)
		case !most.fits(out, value.Len()):
			return most.tooLong(out, value.Len())
		default:
			out = appendElement(out, value)
		}
	}
	return most.done(out)
}

func hLen(tx *engine.Tx, args [][]byte, out []byte) []byte {
	h, _, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return answer.AppendInt(out, int64(h.Count))
}

func hStrLen(tx *engine.Tx, args [][]byte, out []byte) []byte {
	h, _, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	value, _ := h.Get(args[1])
	return answer.AppendInt(out, int64(value.Len()))
}

func hExists(tx *engine.Tx, args [][]byte, out []byte) []byte {
	h, _, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	_, has := h.Get(args[1])
	return truth(out, has)
}

// A fieldPart is the part of fields that a command answers.
type fieldPart uint8

const (
	theField fieldPart = 1 << iota
	theValue
)

// fields answers parts of all fields.
func fields(tx *engine.Tx, args [][]byte, parts fieldPart, out []byte) []byte {
	h, _, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	most := limitFor(tx, out, h.Count*int(parts+1)/2, 0)
	if parts == theField|theValue {
		out = answer.AppendMap(out, h.Count)
	} else {
		out = answer.AppendArray(out, h.Count)
	}
	charge(tx, 2*h.Count)
	walk := h.Walk()
	for field, value, more := walk.Next(); more; field, value, more = walk.Next() {
		if out = parts.append(out, field, value); most.exceeded(out) {
			return most.tooLong(out, 0)
		}
	}
	return most.done(out)
}

// append answers parts of a field.
func (parts fieldPart) append(out []byte, field, value values.Element) []byte {
	if parts&theField != 0 {
		out = appendElement(out, field)
	}
	if parts&theValue != 0 {
		out = appendElement(out, value)
	}
	return out
}

func hRandField(tx *engine.Tx, args [][]byte, out []byte) []byte {
	o, wrong := parseRandom(args[1:], "WITHVALUES")
	if wrong != "" {
		return fail(out, wrong)
	}
	h, _, ok := findHash(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	return o.draw(tx, h.Count, out, func(i int, out []byte) []byte {
		field, value := h.At(i)
		if !o.pairs {
			return appendElement(out, field)
		}
		return appendElement(appendElement(answer.AppendPair(out), field), value)
	})
}

func hScan(tx *engine.Tx, args [][]byte, out []byte) []byte {
	h, _, ok := findHash(tx, args[0])
	o, wrong := parseScan(tx, args[1:], ok, h.Count)
	if wrong != "" {
		return fail(out, wrong)
	}
	r := scanReply{tx: tx, match: o.match}
	walk := h.Scan(tx.Place(o.cursor), o.count)
	for field, value, more := walk.Next(); more; field, value, more = walk.Next() {
		if r.add(field) {
			r.addValue(value)
		}
	}
	return r.answer(out, tx.Cursor(walk.Cursor()))
}
