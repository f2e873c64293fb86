package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
)

// The errors of several commands on collections.
const (
	errMany       = "ERR a hash, list, set or sorted set has at most 16777216 elements"
	errCount      = "ERR value is out of range, must be positive"
	errOutOfRange = "ERR value is out of range"
)

// findRow finds a key for a command on values of a row. ok is false if the key has another
// value. A key that is not there is an empty value.
func findRow(tx *engine.Tx, key []byte, row engine.Alg) (e engine.Entry, ok bool) {
	e, there := tx.Find(key)
	return e, !there || e.Alg() == row
}

// checkSizes returns an error if a collection of count elements can not have further
// elements, or if an argument is too long. The arguments include the further elements, and
// elements that replace others.
func checkSizes(count, further int, args [][]byte) (wrong string) {
	for _, arg := range args {
		if len(arg) > engine.MaxValueBytes {
			return errTooLong
		}
	}
	if count+further > values.MaxCount {
		return errMany
	}
	return ""
}

// appendElement answers an element.
func appendElement(out []byte, e values.Element) []byte {
	n := e.Len()
	return e.Append(answer.AppendBulkHead(values.Grow(out, n+valueBytes), n))
}

// vacate drops an entry if it is there, and returns the entry of its key.
func vacate(tx *engine.Tx, key []byte) engine.Entry {
	e, there := tx.Find(key)
	if there {
		tx.Drop(e)
		e, _ = tx.Find(key)
	}
	return e
}
