package datatypes

import (
	"math"
	"time"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

// longestTimeout is the longest timeout in seconds. Redis adds the present time, and the sum of
// their milliseconds must not overflow.
var longestTimeout, _ = numbers.ParseExtended([]byte("9223370000000000"))

// Timeout reads the timeout of a command that waits: a number of seconds, rounded up to
// milliseconds. 0 means that it waits for ever; wrong is an error. A timeout of more than 292
// years counts as 292 years.
func Timeout(arg []byte) (d time.Duration, wrong string) {
	x, ok := numbers.ParseExtended(arg)
	switch {
	case !ok:
		return 0, "ERR timeout is not a float or out of range"
	case x.Cmp(longestTimeout) > 0:
		return 0, "ERR timeout is out of range"
	case x.Cmp(longestTimeout.Neg()) < 0:
		return 0, "ERR timeout is negative"
	}
	seconds, ok := numbers.ParseDouble(arg)
	if !ok { // it is too small for a double
		seconds = float64(math.SmallestNonzeroFloat64 * float64(x.Sign()))
	}
	ms := int64(math.Ceil(float64(seconds * 1000)))
	if ms < 0 {
		return 0, "ERR timeout is negative"
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, ""
}

// popFirst takes an element off the first list that is not empty, and answers its key and the
// element, or nil. It does not wait: a session does, if it may.
func popFirst(tx *engine.Tx, args [][]byte, at end, out []byte) []byte {
	last := len(args) - 1
	if _, wrong := Timeout(args[last]); wrong != "" {
		return fail(out, wrong)
	}
	for _, key := range args[:last] {
		l, e, ok := findList(tx, key)
		switch {
		case !ok:
			return fail(out, errWrongType)
		case l.Count == 0:
			continue
		}
		out = answer.AppendBulk(answer.AppendArray(out, 2), key)
		i := at.place(&l)
		out = appendElement(out, l.At(i))
		l.Delete(i)
		tx.Keep(e, engine.List, l.Head)
		return out
	}
	return answer.AppendNilArray(out)
}

// returnTo returns the spec.Wait.Return of a list's end: a call with this number.
func returnTo(number uint16) func(c *engine.Call, key, element []byte) {
	return func(c *engine.Call, key, element []byte) {
		c.Command, c.ReadOnly, c.Draws = number, false, false
		c.Args = append(c.Args[:0], key, element)
	}
}
