package scripts

import (
	"encoding/binary"

	"limitsrv/engine"
	"limitsrv/engine/values/numbers"
)

// The numbers of calls beyond the numbers of datatypes. They stand in logs. The number of a
// run is firstRun plus Modes.
const (
	firstRun = 1 << 13
	exists   = firstRun + 1<<4 // Args are hashes: answers an array of 1 and 0
	name     = exists + 1      // the only argument is a hash: answers it

	loadLibrary   = name + 1        // Args are the text, and perhaps REPLACE
	deleteLibrary = name + 2        // the name
	flushLibrary  = name + 3        // no Args: deletes all
	listLibraries = name + 4        // a pattern, empty for all, and perhaps WITHCODE
	countLibrary  = name + 5        // no Args: STATS
	firstFunction = firstRun + 1<<5 // plus Modes: runs of functions; a name in place of the hash
)

// callNames are the names of the calls that are not runs; the first is for the number exists.
var callNames = [...]string{
	0: "SCRIPT EXISTS", name - exists: "SCRIPT LOAD", loadLibrary - exists: "FUNCTION LOAD",
	deleteLibrary - exists: "FUNCTION DELETE",
	flushLibrary - exists:  "FUNCTION FLUSH", listLibraries - exists: "FUNCTION LIST",
	countLibrary - exists: "FUNCTION STATS",
}

// CallName returns the name of a call of this package, for messages, or "" if the number is not in
// use. All runs of scripts have a single name, and all read-only runs another name. The same holds
// for functions.
func CallName(number uint16) string {
	c := engine.Call{Command: number}
	m, run := modesOf(&c)
	switch {
	case run && isFunctionRun(&c) && m&Looks != 0:
		return "a look by a function"
	case run && isFunctionRun(&c):
		return "a run of a function"
	case run && m&Looks != 0:
		return "a look by a script"
	case run:
		return "a run of a script"
	case number >= exists && int(number-exists) < len(callNames):
		return callNames[number-exists]
	}
	return ""
}

// Modes are facts about a run.
type Modes uint8

const (
	Declared Modes = 1 << iota // the keys of its commands are all declared
	Looks                      // it may not write
	Only                       // with Looks: of EVAL_RO and EVALSHA_RO
	Known                      // the sender had the text: a flushed script runs too
	modes

	// Ordered is for runs without Looks: they enter all shards, so that they are applied in
	// the order of their batches, and their messages have that order.
	Ordered = Only
)

// all reports whether a run enters all shards.
func (m Modes) all() bool { return m&Declared == 0 || m&(Looks|Ordered) == Ordered }

// The arguments of a run: the budget of steps as a varint, the hash in hexadecimal, the
// number of keys in decimal, the keys, further arguments.
const (
	stepsArg = iota
	hashArg
	countArg
	firstKeyArg
)

// DefaultSteps is the usual budget of a run.
const DefaultSteps = 5_000_000

// maxSteps is the largest budget.
const maxSteps = 1 << 40

// Steps returns a budget of steps in the form of SetRun.
func Steps(n int64) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// SetRun makes a call a run of a script. hash is in hexadecimal; args are the number of
// keys, the keys and the arguments. Requires: KeyCount accepts them.
func SetRun(c *engine.Call, modes Modes, steps, hash []byte, args [][]byte) {
	c.Command, c.ReadOnly, c.Timed = firstRun+uint16(modes), modes&Looks != 0, true
	c.Args = append(append(c.Args[:0], steps, hash), args...)
}

// RunOf returns the hash of the script that a call runs, or the name of the function. ok is false
// if the call is no run.
func RunOf(c *engine.Call) (name []byte, function, ok bool) {
	if _, ok = modesOf(c); !ok {
		return nil, false, false
	}
	return c.Args[hashArg], isFunctionRun(c), true
}

// StepsOf returns the budget of a run.
func StepsOf(c *engine.Call) int64 {
	asked, _ := binary.Uvarint(c.Args[stepsArg])
	return int64(min(asked, maxSteps))
}

// quick is the largest number of steps of a run of microseconds.
const quick = 1000

// SetLongest tells how many steps the longest run of the script or function has taken, 0 if it has
// not run: runs of quick scripts share the locks of their shards. Requires: the call is, or will be,
// a run.
func SetLongest(c *engine.Call, steps int64) { c.Light = steps > 0 && steps <= quick }

// SetSteps replaces the budget of a run, by a budget in the form of Steps.
func SetSteps(c *engine.Call, steps []byte) { c.Args[stepsArg] = steps }

// SetFunctionRun makes a call a run of a function. args are the number of keys, the keys and
// the arguments. Requires: KeyCount accepts them.
func SetFunctionRun(c *engine.Call, modes Modes, steps, name []byte, args [][]byte) {
	SetRun(c, modes, steps, name, args)
	c.Command += firstFunction - firstRun
}

// SetLoad makes a call FUNCTION LOAD of a text.
func SetLoad(c *engine.Call, text []byte, replace bool) {
	c.Command, c.ReadOnly = loadLibrary, false
	if c.Args = append(c.Args[:0], text); replace {
		c.Args = append(c.Args, nil)
	}
}

// SetDelete makes a call FUNCTION DELETE of a library.
func SetDelete(c *engine.Call, name []byte) {
	c.Command, c.ReadOnly = deleteLibrary, false
	c.Args = append(c.Args[:0], name)
}

// SetFlush makes a call FUNCTION FLUSH.
func SetFlush(c *engine.Call) { c.Command, c.ReadOnly, c.Args = flushLibrary, false, c.Args[:0] }

// SetList makes a call FUNCTION LIST of the libraries that match a pattern; empty: of all.
func SetList(c *engine.Call, pattern []byte, withCode bool) {
	c.Command, c.ReadOnly = listLibraries, true
	if c.Args = append(c.Args[:0], pattern); withCode {
		c.Args = append(c.Args, nil)
	}
}

// SetStats makes a call FUNCTION STATS.
func SetStats(c *engine.Call) { c.Command, c.ReadOnly, c.Args = countLibrary, true, c.Args[:0] }

// ChangesLibraries reports whether a batch has calls that change libraries.
func ChangesLibraries(b *engine.Batch) bool {
	for i := range b.Calls {
		if changesLibraries(&b.Calls[i]) {
			return true
		}
	}
	return false
}

func changesLibraries(c *engine.Call) bool {
	return c.Command == loadLibrary || c.Command == deleteLibrary || c.Command == flushLibrary
}

// SetExists makes a call SCRIPT EXISTS of some hashes.
func SetExists(c *engine.Call, hashes [][]byte) {
	c.Command, c.ReadOnly = exists, true
	c.Args = append(c.Args[:0], hashes...)
}

// SetName makes a call the answer of SCRIPT LOAD.
func SetName(c *engine.Call, hash []byte) {
	c.Command, c.ReadOnly = name, true
	c.Args = append(c.Args[:0], hash)
}

// ErrNoCount is the error of KeyCount for a text that is not a number.
const ErrNoCount = "value is not an integer or out of range"

// KeyCount returns the number of keys of a hash or script with its arguments, or Redis'
// error without its code word.
func KeyCount(args [][]byte) (n int, wrong string) {
	if b := args[1]; len(b) == 1 && int(b[0]-'0') <= min(9, len(args)-2) { // most counts; each run needs it thrice
		return int(b[0] - '0'), ""
	}
	count, ok := numbers.ParseInt(args[1])
	switch {
	case !ok:
		return 0, ErrNoCount
	case count > int64(len(args)-2):
		return 0, "Number of keys can't be greater than number of args"
	case count < 0:
		return 0, "Number of keys can't be negative"
	}
	return int(count), ""
}

// modesOf returns the modes of a call, if it is a run.
func modesOf(c *engine.Call) (m Modes, ok bool) {
	n := c.Command - firstRun
	if isFunctionRun(c) {
		n = c.Command - firstFunction
	}
	return Modes(n), c.Command >= firstRun && n < uint16(modes)
}

// isFunctionRun reports whether a call is a run of a function.
func isFunctionRun(c *engine.Call) bool {
	return c.Command >= firstFunction && c.Command < firstFunction+uint16(modes)
}
