package spec

import (
	"fmt"

	"limitsrv/engine"
)

// A Family has the calls of a range of numbers. Its methods are as the methods of
// [engine.Commands] and [engine.Describer].
type Family interface {
	// Check sets ReadOnly, Timed and Draws of a call from outside, or returns an error.
	Check(c *engine.Call) error
	Keys(c *engine.Call, dst []int) (keys []int, all bool)
	Do(tx *engine.Tx, c *engine.Call)
	Describe(c *engine.Call) (name string, script []byte)
}

// FamilyBits is the number of low bits that differ between the numbers of a family.
const FamilyBits = 12

// Calls are the families by the high bits of their numbers; nil: the numbers are not in use. Logs
// have the numbers, so a family keeps its place. Calls implements [engine.Commands] and
// [engine.Describer].
type Calls [1 << (16 - FamilyBits)]Family

// Level is the newest level of meaning.
//
//	1: the first
//	2: work, memory and answers are charged before they are spent; portable arithmetic; each call
//	   that draws random numbers has a seed of its own
//	3: scripts have the option ONCE
const Level = 3

// OnceLevel is the first level of calls with the option ONCE.
const OnceLevel = 3

// Level implements engine.Commands.
func (*Calls) Level() uint8 { return Level }

// Check implements engine.Commands.
func (x *Calls) Check(c *engine.Call) error {
	if f := x[c.Command>>FamilyBits]; f != nil {
		return f.Check(c)
	}
	return fmt.Errorf("unknown command %d", c.Command)
}

// Keys implements engine.Commands.
func (x *Calls) Keys(c *engine.Call, dst []int) (keys []int, all bool) {
	return x[c.Command>>FamilyBits].Keys(c, dst)
}

// Do implements engine.Commands.
func (x *Calls) Do(tx *engine.Tx, c *engine.Call) { x[c.Command>>FamilyBits].Do(tx, c) }

// Describe implements engine.Describer.
func (x *Calls) Describe(c *engine.Call) (name string, script []byte) {
	return x[c.Command>>FamilyBits].Describe(c)
}
