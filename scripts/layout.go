package scripts

import (
	"encoding/binary"
	"encoding/hex"

	"limitsrv/engine"
	"limitsrv/values/numbers"
)

// The numbers of calls beyond those of datatypes. They stand in logs. The number of a run
// is firstRun plus Modes.
const (
	firstRun = 1 << 13
	exists   = firstRun + 1<<4 // Args are hashes: answers an array of 1 and 0
	name     = exists + 1      // the only argument is a hash: answers it
)

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

// Steps returns a budget of steps in the form of SetRun.
func Steps(n int64) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// SetRun makes a call a run of a script. hash is in hexadecimal; args are the number of
// keys, the keys and the arguments. Requires: KeyCount accepts them.
func SetRun(c *engine.Call, modes Modes, steps, hash []byte, args [][]byte) {
	c.Command, c.ReadOnly, c.Timed = firstRun+uint16(modes), modes&Looks != 0, modes&Looks == 0
	c.Args = append(append(c.Args[:0], steps, hash), args...)
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

// KeyCount returns the number of keys of a hash or script with its arguments, or Redis'
// error without its code word.
func KeyCount(args [][]byte) (n int, wrong string) {
	count, ok := numbers.ParseInt(args[1])
	switch {
	case !ok:
		return 0, "value is not an integer or out of range"
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
	return Modes(n), c.Command >= firstRun && n < uint16(modes)
}

// ParseID returns a hash that is given in hexadecimal, in any case. No allocation.
func ParseID(text []byte) (id engine.SourceID, ok bool) {
	if len(text) != hex.EncodedLen(len(id)) {
		return id, false
	}
	_, err := hex.Decode(id[:], text)
	return id, err == nil
}
