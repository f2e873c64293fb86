package datatypes

import (
	"math"

	"limitsrv/engine"
	"limitsrv/engine/answer"
	"limitsrv/engine/values/numbers"
)

const (
	errFieldType = "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is."
	errOverflow  = "ERR Invalid OVERFLOW type specified"
	errFieldRO   = "ERR BITFIELD_RO only supports the GET subcommand"
)

// An overflow is the treatment of numbers that a field can not hold.
type overflow uint8

const (
	wrap overflow = iota
	saturate
	refuse
)

// overflowWords are the words of OVERFLOW, by overflow.
var overflowWords = [...]string{wrap: "WRAP", saturate: "SAT", refuse: "FAIL"}

// A fieldVerb is the verb of a subcommand of BITFIELD.
type fieldVerb uint8

const (
	fieldGet fieldVerb = iota
	fieldSet
	fieldAdd
)

// A fieldOp is a subcommand of BITFIELD.
type fieldOp struct {
	verb     fieldVerb
	overflow overflow
	signed   bool
	width    int   // 1 to 64
	at       int64 // offset of the first bit
	n        int64 // to set or add
}

// nextField takes the next subcommand off args, after any OVERFLOW, which it stores. done is
// set at the end.
func nextField(args [][]byte, o *overflow) (op fieldOp, rest [][]byte, done bool, wrong string) {
	for len(args) >= 2 && isWord(args[0], "OVERFLOW") {
		known := false
		for i, word := range overflowWords {
			if isWord(args[1], word) {
				*o, known = overflow(i), true
			}
		}
		if !known {
			return op, nil, true, errOverflow
		}
		args = args[2:]
	}
	if len(args) == 0 {
		return op, nil, true, ""
	}
	words := 3
	switch {
	case isWord(args[0], "GET"):
		op.verb = fieldGet
	case isWord(args[0], "SET"):
		op.verb, words = fieldSet, 4
	case isWord(args[0], "INCRBY"):
		op.verb, words = fieldAdd, 4
	default:
		return op, nil, true, errSyntax
	}
	if len(args) < words {
		return op, nil, true, errSyntax
	}
	op.overflow = *o
	wrong = op.parse(args[1:words])
	return op, args[words:], wrong != "", wrong
}

// parse parses the type, the offset and the number.
func (op *fieldOp) parse(args [][]byte) (wrong string) {
	var ok bool
	if op.signed, op.width, ok = parseFieldType(args[0]); !ok {
		return errFieldType
	}
	if op.at, ok = parseBitOffset(args[1], op.width); !ok {
		return errBitOffset
	}
	if op.verb != fieldGet {
		if op.n, ok = numbers.ParseInt(args[2]); !ok {
			return errNotInt
		}
	}
	return ""
}

// parseFieldType parses i1 to i64 or u1 to u63. As in Redis it ends at a zero byte.
func parseFieldType(arg []byte) (signed bool, width int, ok bool) {
	for i, c := range arg {
		if c == 0 {
			arg = arg[:i]
			break
		}
	}
	if len(arg) < 2 || arg[0] != 'i' && arg[0] != 'u' {
		return false, 0, false
	}
	signed = arg[0] == 'i'
	n, ok := numbers.ParseInt(arg[1:])
	return signed, int(n), ok && n >= 1 && (n < 64 || n == 64 && signed)
}

// end returns the number of bytes up to the end of the field.
func (op *fieldOp) end() int64 { return (op.at+int64(op.width)-1)/8 + 1 }

// parseFields checks all subcommands, and returns the length of a string that has the fields
// to write, 0 if there are no such fields.
func parseFields(args [][]byte) (length int64, wrong string) {
	o := wrap
	for {
		op, rest, done, wrong := nextField(args, &o)
		if done {
			return length, wrong
		}
		if op.verb != fieldGet {
			length = max(length, op.end())
		}
		args = rest
	}
}

func bitField(tx *engine.Tx, args [][]byte, out []byte) []byte {
	length, wrong := parseFields(args[1:])
	if wrong != "" {
		return fail(out, wrong)
	}
	e, has := findString(tx, args[0])
	switch {
	case has == wrongType:
		return fail(out, errWrongType)
	case length > engine.MaxValueBytes:
		return fail(out, errTooLong)
	}
	return doFields(&fieldString{tx: tx, e: e, has: has}, int(length), args[1:], out)
}

func bitFieldRO(tx *engine.Tx, args [][]byte, out []byte) []byte {
	length, wrong := parseFields(args[1:])
	if wrong != "" {
		return fail(out, wrong)
	}
	e, has := findString(tx, args[0])
	switch {
	case has == wrongType && length == 0:
		return fail(out, errWrongType)
	case length > 0:
		return fail(out, errFieldRO)
	}
	return doFields(&fieldString{tx: tx, e: e, has: has}, 0, args[1:], out)
}

// doFields carries out subcommands that were checked, on a string that becomes at least so
// long.
func doFields(s *fieldString, length int, args [][]byte, out []byte) []byte {
	if length > 0 && !s.open(length) {
		return fail(out, errFull)
	}
	o, n := wrap, 0
	for rest, done := args, false; !done; n++ {
		_, rest, done, _ = nextField(rest, &o)
	}
	start := len(out)
	out = answer.AppendArray(out, n-1)
	o = wrap
	for {
		op, rest, done, _ := nextField(args, &o)
		if done {
			break
		}
		args = rest
		if value, ok := s.do(&op); ok {
			out = answer.AppendInt(out, value)
		} else {
			out = answer.AppendNil(out)
		}
	}
	if !s.close() {
		return fail(out[:start], errFull)
	}
	return out
}

// do carries out a subcommand. ok is false if it fails for its overflow.
func (s *fieldString) do(op *fieldOp) (value int64, ok bool) {
	old := op.extend(s.read(op.at, op.width))
	var next int64
	var over bool
	switch op.verb {
	case fieldGet:
		return old, true
	case fieldSet:
		next, over = op.fit(op.n, 0)
		value = old
	case fieldAdd:
		next, over = op.fit(old, op.n)
		value = next
	}
	if over && op.overflow == refuse {
		return 0, false
	}
	s.write(op.at, op.width, uint64(next))
	return value, true
}

// extend returns the number of the bits of a field.
func (op *fieldOp) extend(field uint64) int64 {
	if op.signed {
		unused := 64 - op.width
		return int64(field<<unused) >> unused
	}
	return int64(field)
}

// fit returns value + n as a number of the field, and whether that is another number.
func (op *fieldOp) fit(value, n int64) (sum int64, over bool) {
	least, most := int64(0), int64(math.MaxInt64)
	switch {
	case op.signed:
		least, most = math.MinInt64>>(64-op.width), math.MaxInt64>>(64-op.width)
	case op.width < 63:
		most = 1<<op.width - 1
	}
	above, below := op.exceeds(value, n, least, most)
	switch {
	case !above && !below:
		return value + n, false
	case op.overflow == saturate && above:
		return most, true
	case op.overflow == saturate:
		return least, true
	}
	return op.extend(uint64(value+n) & (math.MaxUint64 >> (64 - op.width))), true
}

// exceeds reports whether value + n is above or below the numbers of the field. Requires:
// value is such a number, or n is 0.
//
// As in Redis the number given to SET for an unsigned field is taken without its sign, and
// the differences wrap around: so a number far below the numbers of a signed field counts as
// above.
func (op *fieldOp) exceeds(value, n, least, most int64) (above, below bool) {
	if !op.signed {
		return value < 0 || value > most || n > 0 && n > most-value, n < 0 && n < -value
	}
	above = value > most || (op.width < 64 || value >= 0 && n > 0) && n > most-value
	below = value < least || (op.width < 64 || value < 0 && n < 0) && n < least-value
	return above, below && !above
}
