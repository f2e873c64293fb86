package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/values/numbers"
)

// charge charges the work of n visits to an element. Calls of level 1 do not pay for it.
func charge(tx *engine.Tx, n int) {
	if tx.Level() >= 2 {
		tx.AddWork(n)
	}
}

// parseFloat is numbers.ParseExtended, and charges its work, which grows with the digits and the
// exponent.
func parseFloat(tx *engine.Tx, b []byte) (x numbers.Extended, ok bool) {
	const longArithmetic = 40
	charge(tx, 6)
	if work := workToParse(len(b)); work > 0 {
		charge(tx, longArithmetic+work)
	}
	if x, ok = numbers.ParseExtended(b); ok {
		charge(tx, x.Work())
	}
	return x, ok
}

// floatText appends the string of an entry for parseFloat. ok is false if the string is too long.
func floatText(tx *engine.Tx, e engine.Entry, dst []byte) (text []byte, ok bool) {
	if tx.Len(e) >= numbers.MaxExtendedBytes {
		return dst, false
	}
	return tx.Bytes(e, dst), true
}

// workToParse returns the work to parse a number of n bytes.
func workToParse(n int) int {
	const usual, perElement = 24, 3
	return max(0, n-usual) / perElement
}

// bytesPerElement is the number of bytes that take about as much time as a visit to an element.
const bytesPerElement = 64

// answeredPerElement is the number of bytes of an answer that take about as much time as a visit to
// an element. Scripts pay for the length of answers separately.
const answeredPerElement = 10
