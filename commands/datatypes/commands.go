package datatypes

import (
	"fmt"

	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// All returns the commands; the index of a command is its number. Unused numbers have no
// Name. The caller must not change it.
func All() []spec.Command { return table }

// calls are the bodies of the commands, by number.
var calls = func() []*spec.Call {
	all := make([]*spec.Call, len(table))
	for i := range table {
		all[i], _ = table[i].Body.(*spec.Call)
	}
	return all
}()

// byName are the commands by name.
var byName = func() spec.Index[*spec.Command] {
	x := make(spec.Index[*spec.Command])
	for i := range table {
		x[table[i].Name] = &table[i]
	}
	delete(x, "")
	return x
}()

// Find returns the command with a name, in any case, or nil. No allocation.
func Find(name []byte) *spec.Command { return byName.Find(name, nil) }

// Calls are the calls of the commands, see spec.Family.
type Calls struct{}

// Check sets ReadOnly and Draws.
func (Calls) Check(c *engine.Call) error {
	if int(c.Command) >= len(table) || calls[c.Command] == nil {
		return fmt.Errorf("unknown command %d", c.Command)
	}
	x := &table[c.Command]
	if !calls[c.Command].Takes(1 + len(c.Args)) {
		return fmt.Errorf("%s with %d arguments", x.Name, len(c.Args))
	}
	c.ReadOnly, c.Draws = x.Flags&spec.ReadOnly != 0, x.Flags&spec.Draws != 0
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
	if integer := calls[c.Command].Integer; integer != nil {
		if n, ok := integer(tx, c.Args); ok {
			c.Answer = answer.AppendInt(c.Answer, n)
			return
		}
	}
	c.Answer = Do(tx, &table[c.Command], c.Args, c.Answer)
}

// exhausted is the answer to a call of a transaction after earlier calls have used up
// engine.MaxAtomicWork.
var exhausted = fmt.Sprintf("ERR the commands of a transaction visit at most %d elements: this command was not "+
	"executed", engine.MaxAtomicWork)

// IsExhausted reports whether earlier calls of a transaction have used up its work. Then it answers
// c with an error.
func IsExhausted(tx *engine.Tx, c *engine.Call) bool {
	if !tx.Exhausted() {
		return false
	}
	c.Answer = answer.AppendError(c.Answer[:0], exhausted)
	return true
}

// Do carries out a command of this package with the words after its name, and appends the answer to
// out. Requires: the number of words is valid.
func Do(tx *engine.Tx, x *spec.Command, args [][]byte, out []byte) []byte {
	first, end, step := x.Keys.Span(args)
	for i := first; i < end; i += step {
		if n := len(args[i]); n == 0 || n > engine.MaxKeyBytes {
			return AppendWrongKey(out, n)
		}
	}
	before := len(out)
	out = x.Body.(*spec.Call).Do(tx, args, out)
	if n := len(out) - before; n >= bytesPerElement {
		charge(tx, n/answeredPerElement)
	}
	return out
}

// AppendWrongKey appends the answer to a key of a wrong length, n bytes.
func AppendWrongKey(out []byte, n int) []byte {
	return answer.AppendError(out, fmt.Sprintf("ERR key must be 1 to %d bytes long, got %d", engine.MaxKeyBytes, n))
}
