package datatypes

import (
	"fmt"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

// A rangeCommand is a command that answers or stores a range: the form of the range, and
// the choices of its options.
type rangeCommand struct {
	axis       axis // anyAxis: an option chooses it
	direction  direction
	directions bool // the option REV chooses the direction
	stores     bool // instead of an answer; without the option WITHSCORES
}

// rangeOptions are the options of a range and its bounds.
type rangeOptions struct {
	spec           rangeSpec
	direction      direction
	skipped, count int64 // of LIMIT; a negative count stands for no LIMIT
	scores         bool
}

// parse parses bounds and options.
func (c rangeCommand) parse(tx *engine.Tx, args [][]byte) (o rangeOptions, wrong string) {
	o.direction, o.count, o.spec.axis = c.direction, -1, c.axis
	low, high := args[0], args[1]
	for args = args[2:]; len(args) > 0; args = args[1:] {
		switch word := args[0]; {
		case !c.stores && isWord(word, "WITHSCORES"):
			o.scores = true
		case isWord(word, "LIMIT") && len(args) > 2:
			var ok, ok2 bool
			o.skipped, ok = numbers.ParseInt(args[1])
			o.count, ok2 = numbers.ParseInt(args[2])
			if !ok || !ok2 {
				return o, errNotInt
			}
			args = args[2:]
		case c.directions && o.direction == upwards && isWord(word, "REV"):
			o.direction = downwards
		case o.spec.axis == anyAxis && isWord(word, "BYLEX"):
			o.spec.axis = byLex
		case o.spec.axis == anyAxis && isWord(word, "BYSCORE"):
			o.spec.axis = byScore
		default:
			return o, errSyntax
		}
	}
	ranked := o.spec.axis == anyAxis || o.spec.axis == byRank
	switch {
	case o.count != -1 && ranked:
		return o, "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
	case o.scores && o.spec.axis == byLex:
		return o, "ERR syntax error, WITHSCORES not supported in combination with BYLEX"
	case o.direction == downwards && !ranked:
		low, high = high, low
	}
	if ranked {
		o.skipped = 0
	}
	return o, o.spec.parse(tx, low, high)
}

func answerRange(tx *engine.Tx, args [][]byte, c rangeCommand, out []byte) []byte {
	o, wrong := c.parse(tx, args[1:])
	if wrong != "" {
		return fail(out, wrong)
	}
	z, _, ok := findSortedSet(tx, args[0])
	if !ok {
		return fail(out, errWrongType)
	}
	r := o.spec.in(&z, o.direction)
	r.limit(o.skipped, o.count)
	r.scores = o.scores
	out, _ = r.answer(tx, &z, out)
	return out
}

func zRangeStore(tx *engine.Tx, args [][]byte, out []byte) []byte {
	o, wrong := rangeCommand{directions: true, stores: true}.parse(tx, args[2:])
	if wrong != "" {
		return fail(out, wrong)
	}
	z, _, ok := findSortedSet(tx, args[1])
	if !ok {
		return fail(out, errWrongType)
	}
	r := o.spec.in(&z, o.direction)
	r.limit(o.skipped, o.count)
	if r.n > 0 && tx.Tight() {
		return fail(out, errFull)
	}
	parts := 0
	if tx.Level() >= 2 {
		if r.n <= maxCopied {
			parts = r.parts(&z)
		}
		if r.n+parts > maxCopied {
			return fail(out, errCopied)
		}
	}
	tx.AddWork(r.n * workToAdd)
	e, _ := tx.Find(args[0])
	to := tx.SortedSet(e)
	to.Head = values.Head{}
	if r.n > 0 { // before vacate: both keys may be the same
		charge(tx, workOfMember*r.n+parts*bytesPerPart/copiedPerElement)
		to.FillRange(&z, r.from, r.n)
	}
	e = vacate(tx, args[0])
	if r.n > 0 {
		tx.Keep(e, engine.SortedSet, to.Head)
	}
	return answer.AppendInt(out, int64(r.n))
}

// maxCopied bounds the members that ZRANGESTORE copies. bytesPerPart bytes of a member count as
// another member. The command then takes some 100 ms.
const (
	maxCopied    = 1 << 18
	bytesPerPart = 128
)

var errCopied = fmt.Sprintf("ERR ZRANGESTORE stores at most %d members, and %d bytes of a member count as one more: "+
	"store the range in parts",
	maxCopied, bytesPerPart)

// parts returns the number of times that members of a range have bytesPerPart bytes.
func (r *memberRange) parts(z *values.SortedSet) (n int) {
	walk := z.Walk(r.from)
	for range r.n {
		member, _, _ := walk.Next()
		n += member.Len() / bytesPerPart
	}
	return n
}
