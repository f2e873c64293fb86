package datatypes

import (
	"math"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// maxRepeated bounds the elements of an answer with repetitions.
const maxRepeated = 1 << 20

// workToPick is the work to find an element by its index.
const workToPick = 8

const errCountRange = "ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807"

// randomOptions are the options of HRANDFIELD, SRANDMEMBER and ZRANDMEMBER.
type randomOptions struct {
	counted bool
	count   int64 // if it is negative, elements may be repeated
	pairs   bool  // with the option with
}

// parseRandom parses the count, and the option with if the command has it.
func parseRandom(args [][]byte, with string) (o randomOptions, wrong string) {
	if len(args) == 0 {
		return o, ""
	}
	if with == "" && len(args) > 1 {
		return o, errSyntax
	}
	o.counted = true
	var ok bool
	switch o.count, ok = numbers.ParseInt(args[0]); {
	case !ok:
		return o, errNotInt
	case o.count == math.MinInt64:
		return o, errCountRange
	case len(args) == 1:
		return o, ""
	case len(args) > 2 || !isWord(args[1], with):
		return o, errSyntax
	case o.count < -math.MaxInt64/2 || o.count > math.MaxInt64/2:
		return o, errOutOfRange
	}
	o.pairs = true
	return o, ""
}

// draw answers random elements of a value with size elements. one(i, out) appends element i to out.
func (o *randomOptions) draw(tx *engine.Tx, size int, out []byte, one func(i int, out []byte) []byte) []byte {
	switch {
	case !o.counted && size == 0:
		return answer.AppendNil(out)
	case !o.counted:
		charge(tx, workToPick)
		most := limitFor(tx, out, 1, 0)
		if out = one(values.Pick(tx.Random(), size), out); most.exceeded(out) {
			return most.tooLong(out, 0)
		}
		return out
	case size == 0 || o.count == 0:
		return answer.AppendArray(out, 0)
	case o.count < -maxRepeated:
		return fail(out, errOutOfRange)
	}
	n := int(min(o.count, int64(size)))
	if o.count < 0 {
		n = int(-o.count)
	}
	most := limitFor(tx, out, n, 0)
	if o.pairs {
		most = limitFor(tx, out, 2*n, n)
	}
	if !most.fits(out, 0) {
		return most.tooLong(out, 0)
	}
	charge(tx, workToPick*n)
	if o.pairs {
		out = answer.AppendPairs(out, n)
	} else {
		out = answer.AppendArray(out, n)
	}
	if o.count < 0 {
		for range n {
			if out = one(values.Pick(tx.Random(), size), out); most.exceeded(out) {
				return most.tooLong(out, 0)
			}
		}
		return most.done(out)
	}
	for _, i := range values.Ranks(nil, tx.Random(), size, n) {
		if out = one(i, out); most.exceeded(out) {
			return most.tooLong(out, 0)
		}
	}
	return most.done(out)
}
