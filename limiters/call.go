package limiters

import (
	"limitsrv/answer"
	"limitsrv/commands/resp"
	"limitsrv/engine"
)

// A Caller carries out commands within calls of the engine, such as scripts. Its zero value
// is ready. Concurrency: one goroutine at a time.
type Caller struct {
	batch     engine.Batch
	decisions []engine.Decision
	reply     resp.Writer
}

// Do carries out a command line with a valid number of words, and appends its answer to out.
// Requires: the command is not Grouped; if tx is read-only, it is ReadOnly.
func (x *Caller) Do(tx *engine.Tx, c *Command, words [][]byte, out []byte) []byte {
	x.reply.Buf = x.reply.Buf[:0]
	if err := c.Op(&x.batch, words); err != nil {
		x.reply.Error(err)
		return answer.AppendReply(out, x.reply.Buf)
	}
	ops := x.batch.Ops
	x.decisions = x.decisions[:0]
	for i := range ops {
		var d engine.Decision
		tx.Decide(&ops[i], &d)
		x.decisions = append(x.decisions, d)
	}
	c.Reply(&x.reply, ops, x.decisions)
	clear(ops)
	x.batch.Reset()
	return answer.AppendReply(out, x.reply.Buf)
}
