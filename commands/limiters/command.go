package limiters

import (
	"math"

	"limitsrv/commands/resp"
	"limitsrv/commands/usage"
	"limitsrv/engine"
)

// A Command is a command on limits.
type Command struct {
	Name string // in capitals
	// Args is the usage after the name, in the notation of the tables of other commands.
	Args       string
	Summary    string
	Complexity string
	Since      string // version of limitsrv
	Flags      Flags
	Keys       Keys
	// Before is the maximum number of words for scripts at level 1 of calls; 0: the number in
	// Args.
	Before int

	// Op appends the ops of a command line to b, at least one, or returns an *resp.Error and
	// leaves b unchanged. args[0] is the name. The number of args is valid for Args,
	// unless OwnArity is set.
	Op func(b *engine.Batch, args [][]byte) error
	// Reply writes one reply for the ops that Op appended; ds[i] is the decision on ops[i].
	Reply func(w *resp.Writer, ops []engine.Op, ds []engine.Decision)
}

// Flags are the flags of COMMAND INFO, followed by internal ones.
type Flags uint8

const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Fast
	OwnArity // Op checks the number of args and has its own error
	Decides  // allows or denies a request
)

// Keys is the position of the keys: the first and last argument and the step, as in
// COMMAND; a Last of -1 is the last argument.
type Keys struct{ First, Last, Step int }

var oneKey = Keys{First: 1, Last: 1, Step: 1}

// Words returns the numbers of words, the name included, that are valid for Op.
func (c *Command) Words() (least, most int) {
	if c.Flags&OwnArity != 0 {
		return 0, math.MaxInt
	}
	least, most = usage.Counts(usage.Parse(c.Args))
	return 1 + least, 1 + min(most, math.MaxInt-1)
}
