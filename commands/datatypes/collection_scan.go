package datatypes

import (
	"fmt"
	"strconv"

	"limitsrv/commands/glob"
	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values"
	"limitsrv/engine/values/numbers"
)

const (
	errCursor = "ERR invalid cursor"
	// matchedPerElement is the number of steps of glob.Pattern.Work that take as long as a visit
	// to an element.
	matchedPerElement = 8
	// defaultScan is the default of the option COUNT.
	defaultScan = 10
)

var errPattern = fmt.Sprintf("ERR a pattern is at most %d bytes long", glob.MaxBytes)

// scanOptions are the options of HSCAN, SSCAN and ZSCAN.
type scanOptions struct {
	cursor uint64
	match  *glob.Matcher // nil: any element
	count  int
}

// parseScan parses a cursor and options for a collection of size elements. ok is false if the
// key has a value of another type. As in Redis the options of a missing key do not matter.
func parseScan(tx *engine.Tx, args [][]byte, ok bool, size int) (o scanOptions, wrong string) {
	o.count = defaultScan
	if o.cursor, wrong = parseCursor(args[0]); wrong != "" {
		return o, wrong
	}
	if !ok {
		return o, errWrongType
	}
	if size == 0 {
		return o, ""
	}
	for args = args[1:]; len(args) > 0; args = args[2:] {
		switch {
		case len(args) > 1 && isWord(args[0], "COUNT"):
			n, ok := numbers.ParseInt(args[1])
			switch {
			case !ok:
				return o, errNotInt
			case n < 1:
				return o, errSyntax
			}
			o.count = int(min(n, int64(size)))
		case len(args) > 1 && isWord(args[0], "MATCH"):
			if tx.Level() >= 2 && len(args[1]) > glob.MaxBytes {
				return o, errPattern
			}
			charge(tx, len(args[1])/matchedPerElement)
			o.match = glob.NewMatcher(args[1], glob.SameCase)
		default:
			return o, errSyntax
		}
	}
	return o, ""
}

// parseCursor parses a cursor as C does: a text without digits is 0 if it is empty.
func parseCursor(arg []byte) (cursor uint64, wrong string) {
	text := printable(arg)
	if text == "" {
		return 0, ""
	}
	digits, negative := text, false
	if text[0] == '+' || text[0] == '-' {
		digits, negative = text[1:], text[0] == '-'
	}
	cursor, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || digits[0] == '+' {
		return 0, errCursor
	}
	if negative {
		cursor = -cursor
	}
	return cursor, ""
}

// A scanReply gathers the elements that a scan has found in Scratch.
type scanReply struct {
	tx    *engine.Tx
	match *glob.Matcher // nil: any element
	n     int           // number of values in Scratch
	long  bool          // they exceed AnswerRoom; further elements are left out
}

// add adds an element if it matches, and reports whether it does.
func (r *scanReply) add(e values.Element) bool {
	if r.n == 0 {
		r.tx.Scratch = r.tx.Scratch[:0]
	}
	r.tx.AddWork(1)
	if r.long {
		return false
	}
	from := len(r.tx.Scratch)
	r.tx.Scratch = answer.AppendBulkHead(r.tx.Scratch, e.Len())
	at := len(r.tx.Scratch)
	r.tx.Scratch = e.Append(r.tx.Scratch)
	if r.match != nil {
		charge(r.tx, r.match.Work(e.Len())/matchedPerElement+e.Len()/bytesPerElement)
		if !r.matches(r.tx.Scratch[at:]) {
			r.tx.Scratch = r.tx.Scratch[:from]
			return false
		}
	}
	r.count()
	return true
}

// count counts a value that was added to Scratch.
func (r *scanReply) count() {
	r.n++
	r.long = len(r.tx.Scratch) > r.tx.AnswerRoom()-r.n*(valueBytes+scoreBytes)
}

// matches reports whether a text matches the pattern.
func (r *scanReply) matches(s []byte) bool {
	if len(s) == 0 && r.tx.Level() < 2 {
		return r.match.Stars()
	}
	return r.match.Match(s)
}

// addValue adds the value of a field that was added.
func (r *scanReply) addValue(e values.Element) {
	r.tx.Scratch = appendElement(r.tx.Scratch, e)
	r.count()
}

// addScore adds the score of a member that was added.
func (r *scanReply) addScore(score float64) {
	var b [32]byte
	r.tx.Scratch = answer.AppendBulk(r.tx.Scratch, numbers.AppendDouble(b[:0], score))
	r.count()
}

// answer answers the next cursor and the elements.
func (r *scanReply) answer(out []byte, next uint64) []byte {
	var b [numbers.MaxIntBytes]byte
	most := limitFor(r.tx, out, r.n+3, r.n+3)
	if r.long {
		return most.tooLong(out, len(r.tx.Scratch))
	}
	out = answer.AppendBulk(answer.AppendArray(out, 2), strconv.AppendUint(b[:0], next, 10))
	out = answer.AppendArray(out, r.n)
	if r.n == 0 {
		return out
	}
	return most.done(append(out, r.tx.Scratch...))
}
