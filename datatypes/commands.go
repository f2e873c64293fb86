package datatypes

import (
	"fmt"
	"strings"

	"limitsrv/answer"
	"limitsrv/engine"
)

// A Command is one line of the table.
type Command struct {
	Name string // in capitals
	// Args is the usage after the name, in the notation of the tables of other commands.
	Args string
	// Arity is the number of words, the name included; if it is negative, the minimum.
	Arity      int
	Summary    string
	Complexity string
	Since      string // version of Redis
	Group      string
	Flags      Flags
	Keys       Keys

	// do carries out the command with the words behind the name, and appends the answer to
	// out.
	do func(tx *engine.Tx, args [][]byte, out []byte) []byte
}

// Flags are the flags of COMMAND INFO.
type Flags uint8

const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Fast
)

// Keys is the position of the keys: the first and last word and the step, as in COMMAND:
// the name is word 0, and a Last of -1 is the last word.
type Keys struct{ First, Last, Step int }

// All returns the commands; the index of one is its number. The caller must not change it.
func All() []Command { return table[:] }

// byName has the number of each command by its name.
var byName = func() map[string]uint16 {
	m := make(map[string]uint16, len(table))
	for i := range table {
		m[table[i].Name] = uint16(i)
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

// Takes reports whether a number of words, the name included, is valid.
func (c *Command) Takes(words int) bool {
	return words == c.Arity || c.Arity < 0 && words >= -c.Arity
}

// Set makes a call a command with the words behind its name. Requires: the number of words
// is valid.
func Set(c *engine.Call, number uint16, args [][]byte) {
	c.Command, c.ReadOnly = number, table[number].Flags&ReadOnly != 0
	c.Args = append(c.Args[:0], args...)
}

// Commands implements engine.Commands.
type Commands struct{}

// level is the newest level of meaning.
//
//	1: the first
const level = 1

// Level implements engine.Commands.
func (Commands) Level() uint8 { return level }

// Check implements engine.Commands. It sets ReadOnly.
func (Commands) Check(c *engine.Call) error {
	if int(c.Command) >= len(table) {
		return fmt.Errorf("unknown command %d", c.Command)
	}
	x := &table[c.Command]
	if !x.Takes(1 + len(c.Args)) {
		return fmt.Errorf("%s with %d arguments", x.Name, len(c.Args))
	}
	c.ReadOnly = x.Flags&ReadOnly != 0
	return nil
}

// Keys implements engine.Commands.
func (Commands) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	k := &table[c.Command].Keys
	last := k.Last - 1
	if k.Last < 0 {
		last = len(c.Args) + k.Last
	}
	for i := k.First - 1; i <= last; i += k.Step {
		dst = append(dst, i)
	}
	return dst, false
}

// Do implements engine.Commands.
func (Commands) Do(tx *engine.Tx, c *engine.Call) {
	x := &table[c.Command]
	last := x.Keys.Last - 1
	if x.Keys.Last < 0 {
		last = len(c.Args) + x.Keys.Last
	}
	for i := x.Keys.First - 1; i <= last; i += x.Keys.Step {
		if n := len(c.Args[i]); n == 0 || n > engine.MaxKeyBytes {
			c.Answer = answer.AppendError(c.Answer, fmt.Sprintf("ERR key must be 1 to %d bytes long, got %d", engine.MaxKeyBytes, n))
			return
		}
	}
	c.Answer = x.do(tx, c.Args, c.Answer)
}

// The errors of several commands.
const (
	errWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errFull      = "OOM command not allowed when used memory > 'maxmemory'."
	errSyntax    = "ERR syntax error"
	errNotInt    = "ERR value is not an integer or out of range"
	errTooLong   = "ERR string exceeds maximum allowed size (proto-max-bulk-len)"
)

// errExpire is the error of a command about its expiry.
func errExpire(name string) string { return "ERR invalid expire time in '" + name + "' command" }

// errArity is the error of a command about the number of its words.
func errArity(name string) string {
	return "ERR wrong number of arguments for '" + strings.ToLower(name) + "' command"
}

// fail answers an error.
func fail(out []byte, text string) []byte { return answer.AppendError(out, text) }

// truth answers 1 or 0.
func truth(out []byte, b bool) []byte {
	if b {
		return answer.AppendInt(out, 1)
	}
	return answer.AppendInt(out, 0)
}
