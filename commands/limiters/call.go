package limiters

import (
	"limitsrv/commands/reservations"
	"limitsrv/commands/resp"
	"limitsrv/commands/spec"
	"limitsrv/engine"
	"limitsrv/engine/answer"
)

// workOfError is the work to make an error, in visits to an element.
const workOfError = 96

// A Caller carries out commands within calls of the engine, such as scripts. Its zero value
// is ready. Concurrency: not safe for concurrent use.
type Caller struct {
	batch   engine.Batch
	reply   resp.Writer
	repeats reservations.Reply
}

// Do carries out a line of a command with a valid number of words, and appends its answer to out.
// Requires: if tx is read-only, the command is ReadOnly.
func (x *Caller) Do(tx *engine.Tx, c *spec.Ops, words [][]byte, out []byte) []byte {
	x.reply.Buf = x.reply.Buf[:0]
	x.batch.Level = tx.Level()
	if err := c.Parse(&x.batch, words); err != nil {
		x.reply.Error(err)
		if tx.Level() >= 2 {
			tx.AddWork(workOfError)
		}
		return answer.AppendReply(out, x.reply.Buf)
	}
	if reservations.Wraps(&x.batch) {
		x.once(tx, c)
	} else {
		tx.Decide(&x.batch)
		if tx.Level() < 2 {
			hideBlocks(x.batch.Decisions)
		}
		c.Reply(&x.reply, x.batch.Ops, x.batch.Decisions)
	}
	clear(x.batch.Ops)
	x.batch.Reset()
	return answer.AppendReply(out, x.reply.Buf)
}

// once carries out the batch, a command with the option ONCE, and writes the reply.
func (x *Caller) once(tx *engine.Tx, c *spec.Ops) {
	call := &x.batch.Calls[0]
	reservations.Do(tx, call)
	if err := x.repeats.Read(call); err != nil {
		x.reply.Error(err)
		return
	}
	c.Reply(&x.reply, x.repeats.Ops, x.repeats.Decisions)
	x.repeats.Release()
}
