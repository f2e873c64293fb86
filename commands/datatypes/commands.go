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

// Commands implements engine.Commands.
type Commands struct{}

// level is the newest level of meaning.
//
//	1: the first
//	2: work, memory and answers are charged before they are spent; portable arithmetic; each call
//	   that draws random numbers has a seed of its own
const level = 2

// Level implements engine.Commands.
func (Commands) Level() uint8 { return level }

// Check implements engine.Commands. It sets ReadOnly and Draws.
func (Commands) Check(c *engine.Call) error {
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

// Describe implements engine.Describer.
func (Commands) Describe(c *engine.Call) (name string, script []byte) {
	return table[c.Command].Name, nil
}

// Keys implements engine.Commands.
func (Commands) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	first, end, step := table[c.Command&^workBit].Keys.Span(c.Args)
	for i := first; i < end; i += step {
		dst = append(dst, i)
	}
	return dst, false
}

// Do implements engine.Commands.
func (Commands) Do(tx *engine.Tx, c *engine.Call) {
	if c.Command&workBit != 0 {
		doWork(tx, c)
		return
	}
	if n, ok := DoNumber(tx, c.Command, c.Args); ok {
		c.Answer = answer.AppendInt(c.Answer, n)
		return
	}
	c.Answer = Do(tx, c.Command, c.Args, c.Answer)
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
