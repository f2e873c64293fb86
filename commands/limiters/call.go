package limiters

import (
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
	batch engine.Batch
	reply resp.Writer
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
	tx.Decide(&x.batch)
	if tx.Level() < 2 {
		hideBlocks(x.batch.Decisions)
	}
	c.Reply(&x.reply, x.batch.Ops, x.batch.Decisions)
	clear(x.batch.Ops)
	x.batch.Reset()
	return answer.AppendReply(out, x.reply.Buf)
}
