package datatypes

import (
	"fmt"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
)

// valueBytes is counted for each value of an answer besides its content: a value in RESP is at most
// valueBytes longer than in an answer. For a score the difference is at most scoreBytes.
const (
	valueBytes = 8
	scoreBytes = 24
)

// A limit bounds an answer that is being appended.
type limit struct {
	tx    *engine.Tx
	from  int // length of the output before the answer
	end   int // maximum length of the output
	fixed int // bytes counted for the values besides their content
}

// limitFor returns the limit of an answer that starts at the end of out. values is the number of
// its values, scores the number of scores among them.
func limitFor(tx *engine.Tx, out []byte, values, scores int) limit {
	fixed := values*valueBytes + scores*scoreBytes
	return limit{tx, len(out), len(out) + tx.AnswerRoom() - fixed, fixed}
}

// exceeded reports whether out is longer than the limit. The caller must then return tooLong.
func (l *limit) exceeded(out []byte) bool { return len(out) > l.end }

// fits reports whether n more bytes fit after out.
func (l *limit) fits(out []byte, n int) bool { return n <= l.end-len(out) }

// done claims the length of the complete answer, and returns out.
func (l *limit) done(out []byte) []byte {
	l.tx.ClaimAnswer(len(out) - l.from + l.fixed)
	return out
}

// tooLong replaces an incomplete answer with the error, and charges the work done for it. more is a
// lower bound of the bytes that are still missing.
func (l *limit) tooLong(out []byte, more int) []byte {
	charge(l.tx, (len(out)-l.from)/copiedPerElement)
	need := len(out) - l.from + l.fixed + more
	l.tx.RefuseAnswer()
	return fail(out[:l.from],
		fmt.Sprintf("ERR the answer has %d bytes or more, at most %d are allowed: ask for less at a time",
			need, l.tx.AnswerRoom()))
}

// shortString is a length in bytes that fits into any answer.
const shortString = 1 << 10

// appendOne answers an element, or an error if it is too long.
func appendOne(tx *engine.Tx, out []byte, e values.Element) []byte {
	if n := e.Len(); n >= shortString {
		most := limitFor(tx, out, 1, 0)
		if !most.fits(out, n) {
			return most.tooLong(out, n)
		}
	}
	return appendElement(out, e)
}

// appendString answers the string of an entry, or an error if it is too long.
func appendString(tx *engine.Tx, e engine.Entry, out []byte) (answered []byte, ok bool) {
	n := tx.Len(e)
	if n >= shortString {
		most := limitFor(tx, out, 1, 0)
		if !most.fits(out, n) {
			return most.tooLong(out, n), false
		}
	}
	return tx.Bytes(e, answer.AppendBulkHead(out, n)), true
}
