package datatypes

import (
	"strconv"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

// found is the content of a command's key.
type found uint8

const (
	nothing   found = iota
	aString         // a string
	wrongType       // a value of another type
)

// findString finds a key for a command of strings.
func findString(tx *engine.Tx, key []byte) (engine.Entry, found) {
	e, there := tx.Find(key)
	switch {
	case !there:
		return e, nothing
	case !isString(e):
		return e, wrongType
	}
	return e, aString
}

func isString(e engine.Entry) bool {
	switch e.Alg() {
	case engine.Int, engine.Text8, engine.Text16, engine.Text24, engine.Blob:
		return true
	}
	return false
}

// appendFound answers the string of a key, or Nil. If the value has another type or is too long, it
// answers an error and ok is false.
func appendFound(tx *engine.Tx, e engine.Entry, has found, out []byte) (answered []byte, ok bool) {
	switch has {
	case nothing:
		return answer.AppendNil(out), true
	case wrongType:
		return fail(out, errWrongType), false
	}
	return appendString(tx, e, out)
}

func get(tx *engine.Tx, args [][]byte, out []byte) []byte {
	if n := tx.Number(args[0]); n != nil {
		var b [numbers.MaxIntBytes]byte
		return answer.AppendBulk(out, strconv.AppendInt(b[:0], n.Value, 10))
	}
	e, has := findString(tx, args[0])
	if has == nothing { // answered here, so that a missing key copies no entry
		return answer.AppendNil(out)
	}
	out, _ = appendFound(tx, e, has, out)
	return out
}

func strLen(tx *engine.Tx, args [][]byte, out []byte) []byte {
	switch e, has := findString(tx, args[0]); has {
	case nothing:
		return answer.AppendInt(out, 0)
	case wrongType:
		return fail(out, errWrongType)
	default:
		return answer.AppendInt(out, int64(tx.Len(e)))
	}
}

func mGet(tx *engine.Tx, args [][]byte, out []byte) []byte {
	most := limitFor(tx, out, len(args), 0)
	out = answer.AppendArray(out, len(args))
	for _, key := range args {
		e, has := findString(tx, key)
		if has != aString {
			out = answer.AppendNil(out)
			continue
		}
		n := tx.Len(e)
		if !most.fits(out, n) {
			return most.tooLong(out, n)
		}
		out = tx.Bytes(e, answer.AppendBulkHead(out, n))
	}
	return most.done(out)
}

func set(tx *engine.Tx, args [][]byte, out []byte) []byte {
	o, wrong := parseOptions(args[2:], forSet)
	if wrong {
		return fail(out, errSyntax)
	}
	return setWith(tx, args[0], args[1], o, "set", out)
}

func setEx(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return setWith(tx, args[0], args[2], options{expiry: afterSeconds, time: args[1]}, "setex", out)
}

func pSetEx(tx *engine.Tx, args [][]byte, out []byte) []byte {
	return setWith(tx, args[0], args[2], options{expiry: afterMillis, time: args[1]}, "psetex", out)
}

// setWith carries out a SET of a name. The type of the key does not matter, except for the
// option GET.
func setWith(tx *engine.Tx, key, value []byte, o options, name string, out []byte) []byte {
	at, wrong := o.when(tx.Now(), name)
	if wrong != "" {
		return fail(out, wrong)
	}
	e, there := tx.Find(key)
	start := len(out)
	if o.get {
		has := nothing
		if there {
			has = aString
			if !isString(e) {
				has = wrongType
			}
		}
		var ok bool
		if out, ok = appendFound(tx, e, has, out); !ok {
			return out
		}
	}
	if o.notThere && there || o.there && !there {
		if !o.get {
			out = answer.AppendNil(out)
		}
		return out
	}
	if o.keep && there && e.Alg().IsPlain() {
		at = tx.Expiry(e)
	}
	if wrong := put(tx, e, there, value, at); wrong != "" {
		return fail(out[:start], wrong)
	}
	if !o.get {
		out = append(out, answer.OK...)
	}
	return out
}

// put stores a string under a key, which is there or not. An expiry before now deletes it.
// It returns the error if it can not.
func put(tx *engine.Tx, e engine.Entry, there bool, value []byte, at int64) (wrong string) {
	if len(value) > engine.MaxValueBytes {
		return errTooLong
	}
	if !tx.Fits(e, value) {
		return errFull
	}
	if at != 0 && at < tx.Now().Millis() {
		if there {
			tx.Drop(e)
		}
		return ""
	}
	tx.Put(e, value, at)
	return ""
}

func setNX(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, there := tx.Find(args[0])
	if there {
		return answer.AppendInt(out, 0)
	}
	if wrong := put(tx, e, there, args[1], 0); wrong != "" {
		return fail(out, wrong)
	}
	return answer.AppendInt(out, 1)
}

func getSet(tx *engine.Tx, args [][]byte, out []byte) []byte {
	start := len(out)
	e, has := findString(tx, args[0])
	out, ok := appendFound(tx, e, has, out)
	if !ok {
		return out
	}
	if wrong := put(tx, e, has == aString, args[1], 0); wrong != "" {
		return fail(out[:start], wrong)
	}
	return out
}

func getDel(tx *engine.Tx, args [][]byte, out []byte) []byte {
	e, has := findString(tx, args[0])
	out, _ = appendFound(tx, e, has, out)
	if has == aString {
		tx.Drop(e)
	}
	return out
}

func getEx(tx *engine.Tx, args [][]byte, out []byte) []byte {
	o, wrong := parseOptions(args[1:], forGetEx)
	if wrong {
		return fail(out, errSyntax)
	}
	e, has := findString(tx, args[0])
	if has != aString {
		out, _ = appendFound(tx, e, has, out)
		return out
	}
	at, bad := o.when(tx.Now(), "getex")
	if bad != "" {
		return fail(out, bad)
	}
	// The longest string fits into an answer of a call that writes.
	out, _ = appendString(tx, e, out)
	switch {
	case o.expiry.absolute() && at <= tx.Now().Millis():
		tx.Drop(e)
	case at != 0 || o.persist && tx.Expiry(e) != 0:
		tx.Expire(e, at)
	}
	return out
}

// pairsFit reports whether all values of keys and values in turn may be stored, and returns
// the error if not.
func pairsFit(tx *engine.Tx, args [][]byte) (wrong string) {
	for i := 0; i < len(args); i += 2 {
		if len(args[i+1]) > engine.MaxValueBytes {
			return errTooLong
		}
		if !tx.Tight() {
			continue
		}
		if e, _ := tx.Find(args[i]); !tx.Fits(e, args[i+1]) {
			return errFull
		}
	}
	return ""
}

func mSet(tx *engine.Tx, args [][]byte, out []byte) []byte {
	if len(args)%2 != 0 {
		return fail(out, errArity("mset"))
	}
	if wrong := pairsFit(tx, args); wrong != "" {
		return fail(out, wrong)
	}
	putPairs(tx, args)
	return append(out, answer.OK...)
}

func mSetNX(tx *engine.Tx, args [][]byte, out []byte) []byte {
	if len(args)%2 != 0 {
		return fail(out, errArity("msetnx"))
	}
	for i := 0; i < len(args); i += 2 {
		if _, there := tx.Find(args[i]); there {
			return answer.AppendInt(out, 0)
		}
	}
	if wrong := pairsFit(tx, args); wrong != "" {
		return fail(out, wrong)
	}
	putPairs(tx, args)
	return answer.AppendInt(out, 1)
}

// putPairs stores values that fit. In a Tight batch a key that stands twice may not grow
// further by the second value than by the first.
func putPairs(tx *engine.Tx, args [][]byte) {
	for i := 0; i < len(args); i += 2 {
		e, _ := tx.Find(args[i])
		tx.Put(e, args[i+1], 0)
	}
}
