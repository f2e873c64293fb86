package datatypes

import (
	"limitsrv/engine"
	"limitsrv/engine/values/numbers"
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
	// number, if not nil, does the same in the usual cases of commands on counters, and returns the
	// Integer that is the answer. ok is false, and nothing has happened, in all others.
	number func(tx *engine.Tx, args [][]byte) (n int64, ok bool)
}

// Flags are the flags of COMMAND INFO.
type Flags uint8

const (
	Write Flags = 1 << iota
	ReadOnly
	DenyOOM
	Fast
	NoScript
	Blocking // its last word is a timeout, see Timeout
	Draws    // draws random numbers
)

// Keys is the position of the keys: the first and last word and the step, as in COMMAND:
// the name is word 0, and a Last of -1 is the last word, -2 the one before it. With a Count, that word is the
// number of keys, and they follow it.
type Keys struct{ First, Last, Step, Count int }

// Span returns the indexes of the keys in args, which do not contain the name: from first,
// below end, in steps. A count that is not valid means no keys; those beyond args are left
// out.
func (k *Keys) Span(args [][]byte) (first, end, step int) {
	if k.Last == 1 && len(args) > 0 { // the key of most commands, in a function short enough to be inlined
		return 0, 1, 1
	}
	return k.span(args)
}

// span is Span for other keys than one in the first place.
func (k *Keys) span(args [][]byte) (first, end, step int) {
	switch {
	case k.Count > 0:
		n, ok := numbers.ParseInt(args[k.Count-1])
		if !ok || n < 1 || n > int64(len(args)-k.Count) {
			return 0, 0, 1
		}
		return k.Count, k.Count + int(n), 1
	case k.Last < 0:
		return k.First - 1, len(args) + k.Last + 1, k.Step
	}
	return k.First - 1, min(k.Last, len(args)), k.Step
}

// Takes reports whether a number of words, the name included, is valid.
func (c *Command) Takes(words int) bool {
	return words == c.Arity || c.Arity < 0 && words >= -c.Arity
}
