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
	case c.Command == loadLibrary && (len(c.Args) == 1 || len(c.Args) == 2),
		c.Command == deleteLibrary && len(c.Args) == 1,
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
	modes, isRun := modesOf(c)
	switch {
	case datatypes.IsExhausted(tx, c):
		return
	case !isRun:
		manage(tx, c)
		return
	case isFunctionRun(c):
		runFunction(tx, c)
		return
	}
	source, wrong := find(tx, c.Args[hashArg], modes)
	if source == nil {
		c.Answer = append(c.Answer, wrong...)
		return
	}
	if hasNoSteps(tx, c) {
		return
	}
	s := Compiled(source)
	if s == nil {
		tx.AddHeavy(StepsTo(source) - LightSteps)
		s = Of(source)
	}
	switch {
	case s.wrong != "":
		c.Answer = answer.AppendError(c.Answer, s.wrong)
	case modes&(Looks|Only) == Looks|Only && s.flagged && !s.noWrites:
		c.Answer = answer.AppendError(c.Answer, "ERR Can not execute a script with write flag using *_ro command.")
	default:
		m := machineFor(tx)
		m.tx, m.run, m.looks, m.declared = tx, c, modes&Looks != 0 || s.noWrites, modes&Declared != 0
		m.do(s.chunk, source)
	}
}

// manage carries out a call that is no run.
func manage(tx *engine.Tx, c *engine.Call) {
	switch c.Command {
	case exists:
		c.Answer = answer.AppendArray(c.Answer, len(c.Args))
		for _, hash := range c.Args {
			n := int64(0)
			if tx.SourceNamed(hash) != nil || isEmpty(hash) {
				n = 1
			}
			c.Answer = answer.AppendInt(c.Answer, n)
		}
	case name:
		c.Answer = answer.AppendBulk(c.Answer, c.Args[0])
	case loadLibrary:
		loadLibraryOf(tx, c)
	case deleteLibrary, flushLibrary:
		dropLibraries(tx, c)
	case listLibraries:
		describeLibraries(tx, c)
	case countLibrary:
		countLibraries(tx, c)
	}
}
