package scripts

import (
	"encoding/binary"
	"fmt"

	"limitsrv/commands/datatypes"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// Calls are the runs of scripts and functions, and the calls that change and list them, see
// spec.Family.
type Calls struct{}

// Check sets ReadOnly and Timed.
func (Calls) Check(c *engine.Call) error {
	m, run := modesOf(c)
	switch {
	case c.Command == exists, c.Command == name && len(c.Args) == 1,
		c.Command == listLibraries && (len(c.Args) == 1 || len(c.Args) == 2), c.Command == countLibrary && len(c.Args) == 0:
		c.ReadOnly = true
		return nil
	case c.Command == loadLibrary && (len(c.Args) == 1 || len(c.Args) == 2), c.Command == deleteLibrary && len(c.Args) == 1,
		c.Command == flushLibrary && len(c.Args) == 0:
		return nil
	case !run || len(c.Args) < firstKeyArg:
		return fmt.Errorf("unknown command %d with %d arguments", c.Command, len(c.Args))
	}
	c.ReadOnly, c.Timed = m&Looks != 0, true
	if _, wrong := KeyCount(c.Args[hashArg:]); wrong != "" {
		return fmt.Errorf("a script: %s", wrong)
	}
	if _, size := binary.Uvarint(c.Args[stepsArg]); size != len(c.Args[stepsArg]) || size == 0 {
		return fmt.Errorf("a script with a budget of %d bytes", len(c.Args[stepsArg]))
	}
	return nil
}

// Keys appends the indexes of the keys of a run. A call that changes libraries enters all shards.
func (Calls) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	m, run := modesOf(c)
	if !run {
		return dst, changesLibraries(c)
	}
	n, _ := KeyCount(c.Args[hashArg:])
	for i := range n {
		dst = append(dst, firstKeyArg+i)
	}
	return dst, m.all()
}

// Describe returns the name of the command that makes a call, and the hash or function of a run.
func (Calls) Describe(c *engine.Call) (name string, script []byte) {
	m, run := modesOf(c)
	switch {
	case !run:
		return callNames[c.Command-exists], nil
	case isFunctionRun(c):
		name = "FCALL"
	default:
		name = "EVAL"
	}
	if m&(Looks|Only) == Looks|Only {
		name += "_RO"
	}
	return name, c.Args[hashArg]
}

// Do carries out a call.
func (Calls) Do(tx *engine.Tx, c *engine.Call) {
	switch {
	case datatypes.IsExhausted(tx, c):
	case c.Command == exists:
		c.Answer = answer.AppendArray(c.Answer, len(c.Args))
		for _, hash := range c.Args {
			n := int64(0)
			if tx.SourceNamed(hash) != nil || isEmpty(hash) {
				n = 1
			}
			c.Answer = answer.AppendInt(c.Answer, n)
		}
	case c.Command == name:
		c.Answer = answer.AppendBulk(c.Answer, c.Args[0])
	case c.Command == loadLibrary:
		loadLibraryOf(tx, c)
	case c.Command == deleteLibrary || c.Command == flushLibrary:
		dropLibraries(tx, c)
	case c.Command == listLibraries:
		describeLibraries(tx, c)
	case c.Command == countLibrary:
		countLibraries(tx, c)
	case isFunctionRun(c):
		runFunction(tx, c)
	default:
		run(tx, c)
	}
}
