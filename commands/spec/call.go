package spec

import (
	"time"

	"limitsrv/engine"
)

// A Call is the body of a command that is one call of the engine. The command answers wrong arguments
// itself, because their texts and order are those of Redis.
type Call struct {
	// Do carries out the command with the words after the name, and appends the answer to out.
	// Requires: the number of words is valid, and the keys are of a valid length.
	Do func(tx *engine.Tx, args [][]byte, out []byte) []byte
	// Integer, unless nil, does the same in the usual cases of commands on counters, and returns the
	// integer that is the answer. ok is false, and nothing has happened, in all other cases.
	Integer func(tx *engine.Tx, args [][]byte) (n int64, ok bool)
	// Work returns the work of a line on the present values, in visits to an element. nil: the work
	// does not grow with the values. Cost: O(log n) for each key.
	Work func(tx *engine.Tx, args [][]byte) int
	// Wait, unless nil, makes the command wait while its answer is the nil of an array, except in
	// transactions and scripts.
	Wait *Wait

	number      uint16
	least, most int // words of a line
}

// SetNumber sets the number of a command with a *Call, which stands in logs.
func (c *Command) SetNumber(number uint16) {
	call := c.Body.(*Call)
	call.number = number
	call.least, call.most = c.Words()
}

// Takes reports whether a number of words, the name included, is valid.
func (c *Call) Takes(words int) bool { return words >= c.least && words <= c.most }

// Body implements Body.
func (*Call) Body() {}

// A Wait describes a command that waits for elements of lists. Its last word is a timeout.
type Wait struct {
	// Timeout reads a timeout, 0 for none. wrong is an error.
	Timeout func(word []byte) (d time.Duration, wrong string)
	// Return makes c a call that gives an element back to the list of a key.
	Return func(c *engine.Call, key, element []byte)
}

// SetCall makes call the call of a command line. args are the words after the name. Requires: the
// Body is a *Call, and the number of words is valid.
func (c *Command) SetCall(call *engine.Call, args [][]byte) {
	call.Command = c.Body.(*Call).number
	call.ReadOnly, call.Draws = c.Flags&ReadOnly != 0, c.Flags&Draws != 0
	call.Args = append(call.Args[:0], args...)
}

// WorkBit marks the number of a read-only call that estimates work: its answer is the result of
// Call.Work. No log contains such a call.
const WorkBit = 1 << FamilyBits

// SetWork makes call a call that estimates the work of a command line. args are the words after the
// name. Requires: the Body is a *Call with Work, and the number of words is valid.
func (c *Command) SetWork(call *engine.Call, args [][]byte) {
	call.Command, call.ReadOnly = c.Body.(*Call).number|WorkBit, true
	call.Args = append(call.Args[:0], args...)
}
