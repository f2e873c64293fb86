package datatypes

import (
	"fmt"

	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// All returns the commands; the index of one is its number. Unused numbers have no Name. The
// caller must not change it.
func All() []Command { return table[:] }

// byName has the number of each command by its name.
var byName = func() map[string]uint16 {
	m := make(map[string]uint16, len(table))
	for i := range table {
		if name := table[i].Name; name != "" {
			m[name] = uint16(i)
		}
	}
	return m
}()

// maxName is longer than any name.
const maxName = 32

// Find returns the number of the command with a name, in any case. No allocation.
func Find(name []byte) (number uint16, ok bool) {
	if len(name) >= maxName {
		return 0, false
	}
	var upper [maxName]byte
	for i, c := range name {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	number, ok = byName[string(upper[:len(name)])]
	return number, ok
}

// Set makes a call a command with the words behind its name. Requires: the number of words
// is valid.
func Set(c *engine.Call, number uint16, args [][]byte) {
	flags := table[number].Flags
	c.Command, c.ReadOnly, c.Draws = number, flags&ReadOnly != 0, flags&Draws != 0
	c.Args = append(c.Args[:0], args...)
}

// Calls are the calls of the commands, see spec.Family.
type Calls struct{}

// Check sets ReadOnly and Draws.
func (Calls) Check(c *engine.Call) error {
	if int(c.Command) >= len(table) || table[c.Command].Name == "" {
		return fmt.Errorf("unknown command %d", c.Command)
	}
	x := &table[c.Command]
	if !x.Takes(1 + len(c.Args)) {
		return fmt.Errorf("%s with %d arguments", x.Name, len(c.Args))
	}
	c.ReadOnly, c.Draws = x.Flags&ReadOnly != 0, x.Flags&Draws != 0
	return nil
}

// Describe returns the name of a command.
func (Calls) Describe(c *engine.Call) (name string, script []byte) {
	return table[c.Command].Name, nil
}

// Keys appends the indexes of the keys.
func (Calls) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	return appendKeys(dst, c.Command, c.Args), false
}

// appendKeys appends the indexes of the keys of the command with a number.
func appendKeys(dst []int, number uint16, args [][]byte) []int {
	first, end, step := table[number].Keys.Span(args)
	for i := first; i < end; i += step {
		dst = append(dst, i)
	}
	return dst
}

// Do carries out a call.
func (Calls) Do(tx *engine.Tx, c *engine.Call) {
	if IsExhausted(tx, c) {
		return
	}
	if n, ok := DoNumber(tx, c.Command, c.Args); ok {
		c.Answer = answer.AppendInt(c.Answer, n)
		return
	}
	c.Answer = Do(tx, c.Command, c.Args, c.Answer)
}

// exhausted is the answer to a call of a transaction after earlier calls have used up
// engine.MaxAtomicWork.
var exhausted = fmt.Sprintf("ERR the commands of a transaction visit at most %d elements: this command was not executed", engine.MaxAtomicWork)

// IsExhausted reports whether earlier calls of a transaction have used up its work. Then it answers
// c with an error.
func IsExhausted(tx *engine.Tx, c *engine.Call) bool {
	if !tx.Exhausted() {
		return false
	}
	c.Answer = answer.AppendError(c.Answer[:0], exhausted)
	return true
}

// Do carries out the command with a number and the words behind its name, and appends the
// answer to out. Requires: the number of words is valid.
func Do(tx *engine.Tx, number uint16, args [][]byte, out []byte) []byte {
	x := &table[number]
	first, end, step := x.Keys.Span(args)
	for i := first; i < end; i += step {
		if n := len(args[i]); n == 0 || n > engine.MaxKeyBytes {
			return AppendWrongKey(out, n)
		}
	}
	before := len(out)
	out = x.do(tx, args, out)
	if n := len(out) - before; n >= bytesPerElement {
		charge(tx, n/answeredPerElement)
	}
	return out
}

// DoNumber carries out a command in the usual cases of those on counters, and returns the Integer
// that is the answer. ok is false, and nothing has happened, in all others: then use Do. Requires:
// as Do.
func DoNumber(tx *engine.Tx, number uint16, args [][]byte) (n int64, ok bool) {
	x := &table[number]
	if x.number == nil {
		return 0, false
	}
	return x.number(tx, args)
}

// AppendWrongKey appends the answer to a key of a wrong length, n bytes.
func AppendWrongKey(out []byte, n int) []byte {
	return answer.AppendError(out, fmt.Sprintf("ERR key must be 1 to %d bytes long, got %d", engine.MaxKeyBytes, n))
}
