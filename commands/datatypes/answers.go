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
	return fail(out[:l.from], fmt.Sprintf("ERR the answer has %d bytes or more, at most %d are allowed: ask for less at a time",
		need, l.tx.AnswerRoom()))
}

// shortString is a length in bytes that fits into any answer.
const shortString = 1 << 10

// appendOne answers one element, or an error if it is too long.
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

// longAnswers are the commands with answers that may be longer than a few bytes for each word. The
// number is the least number of words, including the name, of such a command line.
var longAnswers = map[string]int{
	"GET": 2, "SET": 4, "GETSET": 3, "GETDEL": 2, "GETEX": 2, "MGET": 2, "GETRANGE": 4, "SUBSTR": 4,
	"HGET": 3, "HMGET": 3, "HGETALL": 2, "HKEYS": 2, "HVALS": 2, "HRANDFIELD": 2, "HSCAN": 3,
	"ZRANGE": 4, "ZREVRANGE": 4, "ZRANGEBYSCORE": 4, "ZREVRANGEBYSCORE": 4, "ZRANGEBYLEX": 4, "ZREVRANGEBYLEX": 4,
	"ZPOPMIN": 2, "ZPOPMAX": 2, "ZRANDMEMBER": 2, "ZSCAN": 3,
	"LPOP": 2, "RPOP": 2, "LINDEX": 3, "LRANGE": 4, "LPOS": 3, "LMOVE": 5, "RPOPLPUSH": 3, "BLPOP": 3, "BRPOP": 3,
	"SMEMBERS": 2, "SPOP": 2, "SRANDMEMBER": 2, "SSCAN": 3, "SINTER": 2, "SUNION": 2, "SDIFF": 2,
}

// Long returns the least number of words, including the name, with which the answer of the command
// may be longer than a few bytes for each word; 0: the answer is always short.
func (c *Command) Long() int { return longAnswers[c.Name] }
