package scripts

import (
	"encoding/binary"
	"fmt"

	"limitsrv/commands/datatypes"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// Commands implements engine.Commands.
type Commands struct{ datatypes.Commands }

var (
	_ engine.Commands  = Commands{}
	_ engine.Describer = Commands{}
)

// Check implements engine.Commands.
func (x Commands) Check(c *engine.Call) error {
	m, run := modesOf(c)
	switch {
	case c.Command < firstRun:
		return x.Commands.Check(c)
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

// Keys implements engine.Commands.
func (x Commands) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	if c.Command < firstRun {
		return x.Commands.Keys(c, dst)
	}
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

// names are the names of the calls that are not runs.
var names = map[uint16]string{
	exists: "SCRIPT EXISTS", name: "SCRIPT LOAD", loadLibrary: "FUNCTION LOAD", deleteLibrary: "FUNCTION DELETE",
	flushLibrary: "FUNCTION FLUSH", listLibraries: "FUNCTION LIST", countLibrary: "FUNCTION STATS",
}

// Describe implements engine.Describer.
func (x Commands) Describe(c *engine.Call) (name string, script []byte) {
	m, run := modesOf(c)
	switch {
	case c.Command < firstRun:
		return x.Commands.Describe(c)
	case !run:
		return names[c.Command], nil
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

// exhausted is the answer to a call of a transaction after earlier calls have used up
// engine.MaxAtomicWork.
var exhausted = fmt.Sprintf("ERR the commands of a transaction visit at most %d elements: this command was not executed", engine.MaxAtomicWork)

// Do implements engine.Commands.
func (x Commands) Do(tx *engine.Tx, c *engine.Call) {
	switch {
	case tx.Exhausted():
		c.Answer = answer.AppendError(c.Answer[:0], exhausted)
	case c.Command < firstRun:
		x.Commands.Do(tx, c)
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
