package simtest

import (
	"errors"
	"fmt"
	"slices"

	"limitsrv/commands/calls"
	"limitsrv/commands/datatypes"
	"limitsrv/engine"
)

// A Request is the batch of a call.
type Request struct {
	Ops    []engine.Op
	Calls  []engine.Call // of its Dos
	Atomic bool
	Runs   map[int]Run // of scripts, by op
}

// Batch returns a batch of the request.
func (r *Request) Batch() *engine.Batch {
	c := r.clone()
	return &engine.Batch{Ops: c.Ops, Calls: c.Calls, Atomic: c.Atomic}
}

// clone returns a copy, whose calls share their arguments with the request.
func (r *Request) clone() Request {
	return Request{slices.Clone(r.Ops), slices.Clone(r.Calls), r.Atomic, r.Runs}
}

// do adds a command on plain values.
func (r *Request) do(db uint8, name string, args ...string) {
	command := datatypes.Find([]byte(name))
	if command == nil {
		panic("no command " + name)
	}
	r.call(db, func(c *engine.Call) { command.SetCall(c, words(args)) })
}

// call adds a call. set must set its command and arguments.
func (r *Request) call(db uint8, set func(c *engine.Call)) {
	var c engine.Call
	set(&c)
	r.Ops = append(r.Ops, engine.Op{Kind: engine.Do, DB: db, N: int64(len(r.Calls))})
	r.Calls = append(r.Calls, c)
}

// Commands are the commands of datatypes, scripts and rules, with another argument: the tag of the
// call.
var Commands engine.Commands = tagged{calls.Commands}

type tagged struct{ engine.Commands }

// untagged returns a call without its tag.
func untagged(c *engine.Call) *engine.Call {
	return &engine.Call{Command: c.Command, Timed: c.Timed, Draws: c.Draws, Micros: c.Micros, Args: c.Args[:len(c.Args)-1],
		Answer: c.Answer}
}

// Check checks a call without its tag.
func (t tagged) Check(c *engine.Call) error {
	if len(c.Args) == 0 {
		return errors.New("a call without a tag")
	}
	bare := untagged(c)
	err := t.Commands.Check(bare)
	c.ReadOnly, c.Timed, c.Draws = bare.ReadOnly, bare.Timed, bare.Draws
	return err
}

// Keys appends the indexes of the keys.
func (t tagged) Keys(c *engine.Call, dst []int) ([]int, bool) {
	return t.Commands.Keys(untagged(c), dst)
}

// Do carries out a call without its tag.
func (t tagged) Do(tx *engine.Tx, c *engine.Call) {
	bare := untagged(c)
	t.Commands.Do(tx, bare)
	c.Answer = bare.Answer
}

const tagBytes = 8

// tag tags op i, unless it is a Learn: the log must have its text.
func (r *Request) tag(i int, tag []byte) {
	op := &r.Ops[i]
	switch op.Kind {
	case engine.Learn:
		return
	case engine.Do:
	default:
		op.ID = tag
		return
	}
	c := &r.Calls[op.N]
	c.Args = append(slices.Clip(c.Args), tag)
}

// tagOf returns the tag of an op of a batch.
func tagOf(b *engine.Batch, op *engine.Op) []byte {
	if op.Kind != engine.Do {
		return op.ID
	}
	args := b.Calls[op.N].Args
	return args[len(args)-1]
}

// answerOf returns the answer to an op of a batch, if it is a Do.
func answerOf(b *engine.Batch, op *engine.Op) string {
	if op.Kind != engine.Do {
		return ""
	}
	return string(b.Calls[op.N].Answer)
}

// Text formats ops of a batch that has calls.
func Text(ops []engine.Op, calls []engine.Call) (text []string) {
	for i := range ops {
		switch op := &ops[i]; op.Kind {
		case engine.Do:
			c := &calls[op.N]
			text = append(text, fmt.Sprintf("command %d in database %d with %q", c.Command, op.DB, c.Args))
		default:
			text = append(text, fmt.Sprintf("kind %d of %s n=%d id=%x", op.Kind, op.Key, op.N, op.ID))
		}
	}
	return text
}
