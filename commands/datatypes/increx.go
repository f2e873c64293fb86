package datatypes

import (
	"math"
	"slices"
	"strconv"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

// The parts of an INCREX. Each part may stand once.
type increxOptions struct {
	by, lower, upper         []byte // arguments; nil: not given
	float, saturate, persist bool
	noneYet, notThere, there bool // ENX, NX, XX
	expiry                   options
}

// increx adds within bounds, and sets an expiry if it did. It answers the value and the part
// of the increment that was applied, which is 0 if the value would leave its bounds or type:
// then nothing is changed. With SATURATE the value goes as far as the bound.
func increx(tx *engine.Tx, args [][]byte, out []byte) []byte {
	o, wrong := parseIncrex(args[1:])
	if wrong != "" {
		return fail(out, wrong)
	}
	if o.float {
		return increxFloat(tx, args[0], &o, out)
	}
	return increxInt(tx, args[0], &o, out)
}

func parseIncrex(args [][]byte) (o increxOptions, wrong string) {
	for i := 0; i < len(args); i++ {
		word, argument := args[i], []byte(nil)
		if i+1 < len(args) {
			argument = args[i+1]
		}
		var to *[]byte
		switch {
		case isWord(word, "BYINT") && o.by == nil:
			to = &o.by
		case isWord(word, "BYFLOAT") && o.by == nil:
			to, o.float = &o.by, true
		case isWord(word, "LBOUND") && o.lower == nil:
			to = &o.lower
		case isWord(word, "UBOUND") && o.upper == nil:
			to = &o.upper
		case isWord(word, "SATURATE") && !o.saturate:
			o.saturate = true
		case isWord(word, "PERSIST") && !o.persist && o.expiry.expiry == noExpiry:
			o.persist = true
		case isWord(word, "ENX") && !o.noneYet:
			o.noneYet = true
		case isWord(word, "NX") && !o.there && !o.notThere:
			o.notThere = true
		case isWord(word, "XX") && !o.there && !o.notThere:
			o.there = true
		default:
			form := expiryFormOf(word)
			if form == noExpiry || o.persist || o.expiry.expiry != noExpiry {
				return o, errSyntax
			}
			o.expiry.expiry, to = form, &o.expiry.time
		}
		if to != nil {
			if argument == nil {
				return o, errSyntax
			}
			*to = argument
			i++
		}
	}
	switch {
	case o.persist && o.noneYet:
		return o, errSyntax
	case o.noneYet && o.expiry.expiry == noExpiry:
		return o, "ERR ENX flag requires an expiration"
	}
	return o, ""
}

const (
	errBounds   = "ERR LBOUND can't be greater than UBOUND"
	errNotFloat = "ERR value is not a valid float"
)

// parseEach parses the increment and the bounds of an INCREX. ending ends the text of an error.
func parseEach[N any](o *increxOptions, one, least, most N, parse func([]byte) (N, bool),
	ending string) (by, lower, upper N, wrong string) {
	if by, wrong = parsePart("ERR Increment", o.by, one, parse, ending); wrong != "" {
		return by, lower, upper, wrong
	}
	if lower, wrong = parsePart("ERR LBOUND", o.lower, least, parse, ending); wrong != "" {
		return by, lower, upper, wrong
	}
	upper, wrong = parsePart("ERR UBOUND", o.upper, most, parse, ending)
	return by, lower, upper, wrong
}

// parsePart parses an argument, or returns preset if it is not given.
func parsePart[N any](name string, arg []byte, preset N, parse func([]byte) (N, bool),
	ending string) (n N, wrong string) {
	if arg == nil {
		return preset, ""
	}
	n, ok := parse(arg)
	if !ok {
		return n, name + ending
	}
	return n, ""
}

func increxInt(tx *engine.Tx, key []byte, o *increxOptions, out []byte) []byte {
	by, lower, upper, wrong := parseEach(o, 1, math.MinInt64, math.MaxInt64, numbers.ParseInt,
		" is not an integer or out of range")
	if wrong == "" && lower > upper {
		wrong = errBounds
	}
	at, e, has, bad := o.find(tx, key, wrong)
	if bad != "" {
		return fail(out, bad)
	}
	var old int64
	if has == aString {
		var ok bool
		if old, ok = tx.Int(e); !ok {
			return fail(out, errNotInt)
		}
	}
	sum, over := old+by, 0
	switch {
	case by > 0 && old > math.MaxInt64-by || by < 0 && old < math.MinInt64-by:
		over = 1 - 2*int(uint64(by)>>63)
	case sum > upper:
		over = 1
	case sum < lower:
		over = -1
	}
	if o.unmet(has) || over != 0 && !o.saturate {
		return answer.AppendInt(answer.AppendInt(answer.AppendArray(out, 2), old), 0)
	}
	switch {
	case over > 0:
		sum = upper
	case over < 0:
		sum = lower
	}
	applied := sum - old
	if (sum > old) != (applied > 0) {
		return fail(out, "ERR applied increment would overflow")
	}
	put, ok := tx.PutInt(e, sum, o.kept(tx, e, has))
	if !ok {
		return fail(out, errFull)
	}
	o.expire(tx, put, at)
	return answer.AppendInt(answer.AppendInt(answer.AppendArray(out, 2), sum), applied)
}

// one is the default increment.
var one, _ = numbers.ParseExtended([]byte("1"))

func increxFloat(tx *engine.Tx, key []byte, o *increxOptions, out []byte) []byte {
	parse := func(b []byte) (numbers.Extended, bool) { return parseFloat(tx, b) }
	by, lower, upper, wrong := parseEach(o, one, numbers.MaxExtended.Neg(), numbers.MaxExtended, parse,
		" is not a valid float")
	switch {
	case wrong == "" && !by.Finite():
		wrong = "ERR BYFLOAT increment cannot be Infinity"
	case wrong == "" && lower.Cmp(upper) > 0:
		wrong = errBounds
	}
	at, e, has, bad := o.find(tx, key, wrong)
	if bad != "" {
		return fail(out, bad)
	}
	var old numbers.Extended
	if has == aString {
		var ok bool
		if tx.Scratch, ok = floatText(tx, e, tx.Scratch[:0]); ok {
			old, ok = parseFloat(tx, tx.Scratch)
		}
		if !ok {
			return fail(out, errNotFloat)
		}
		if !old.Finite() {
			return fail(out, "ERR value cannot be Infinity")
		}
	}
	sum := old.Add(by)
	above, below := sum.Cmp(upper) > 0, sum.Cmp(lower) < 0
	if o.unmet(has) || (above || below || !sum.Finite()) && !o.saturate {
		return appendFloat(tx, appendFloat(tx, answer.AppendArray(out, 2), old), numbers.Extended{})
	}
	switch {
	case above:
		sum = upper
	case below:
		sum = lower
	}
	applied := sum.Add(old.Neg())
	if !applied.Finite() {
		return fail(out, "ERR applied increment would be Infinity")
	}
	tx.Scratch = sum.AppendHuman(slices.Grow(tx.Scratch[:0], usualFloat))
	charge(tx, sum.Work()+workToParse(len(tx.Scratch)))
	put, ok := tx.Put(e, tx.Scratch, o.kept(tx, e, has))
	if !ok {
		return fail(out, errFull)
	}
	o.expire(tx, put, at)
	return appendFloat(tx, appendFloat(tx, answer.AppendArray(out, 2), sum), applied)
}

// appendFloat answers a finite number.
func appendFloat(tx *engine.Tx, out []byte, x numbers.Extended) []byte {
	charge(tx, 8+2*x.Work())
	var b [usualFloat]byte
	f, _ := strconv.ParseFloat(string(x.AppendHuman(b[:0])), 64)
	return answer.AppendDouble(out, f)
}

// find returns the expiry that the command asks for, and the entry of the key. An error found
// before goes first.
func (o *increxOptions) find(tx *engine.Tx, key []byte,
	wrong string) (at int64, e engine.Entry, has found, bad string) {
	if wrong == "" {
		at, wrong = o.expiry.when(tx.Now(), "increx")
	}
	if wrong != "" {
		return 0, e, nothing, wrong
	}
	if e, has = findString(tx, key); has == wrongType {
		return 0, e, has, errWrongType
	}
	return at, e, has, ""
}

// unmet reports whether NX or XX forbids the command.
func (o *increxOptions) unmet(has found) bool {
	return o.notThere && has == aString || o.there && has == nothing
}

// kept returns the expiry of an entry before the command's own.
func (o *increxOptions) kept(tx *engine.Tx, e engine.Entry, has found) int64 {
	if has == nothing {
		return 0
	}
	return tx.Expiry(e)
}

// expire sets the expiry of a changed value.
func (o *increxOptions) expire(tx *engine.Tx, e engine.Entry, at int64) {
	switch {
	case o.persist:
		if tx.Expiry(e) != 0 {
			tx.Expire(e, 0)
		}
	case o.expiry.expiry == noExpiry, o.noneYet && tx.Expiry(e) != 0:
	case o.expiry.expiry.absolute() && at <= tx.Now().Millis():
		tx.Drop(e)
	default:
		tx.Expire(e, at)
	}
}
