package backend

import (
	"context"

	"limitsrv/engine"
	"limitsrv/internal/fatal"
	"limitsrv/internal/turns"
)

// An Executor executes the batches of the clients of a node. All commands use it, and nothing else
// calls the [Exec] of the node's state.
//
// Do and Await are complete: the batch begins, and needs no further call. An event loop, which
// executes the batches of many connections, calls Gather for each batch, and Commit before it
// writes the replies of all.
//
// A batch that is Slow waits for its turn. If another node decides it, a batch with scripts has only
// the turn that the leader has for it. A batch with much work waits on both nodes: this node writes
// its long answers.
//
// A panic in the Exec ends the process. The Exec may hold locks and have left the state half
// changed, and every later command would hang.
//
// Concurrency: any number of goroutines may call all methods. The fields do not change.
type Executor struct {
	Exec  Exec
	Leads func() bool // as of Cluster
	Turns *turns.Turns
}

// Gather executes a batch of an event loop, and calls done once, before it returns or later from
// any goroutine. Until then the [Exec] owns the batch and the bytes that it points to. Requires:
// the goroutine calls Commit before it waits or sends a decision.
func (x *Executor) Gather(batch *engine.Batch, done func(error)) {
	if batch.Slow && (batch.Runs == 0 || batch.Stale || turns.MayBeLong(batch.Work) || x.Leads()) {
		x.queue(batch, done)
		return
	}
	defer fatal.OnPanic()
	x.Exec.Exec(batch, done)
}

// Commit returns when the decisions of gathered batches may be sent, and starts the other
// batches.
func (x *Executor) Commit() {
	defer fatal.OnPanic()
	x.Exec.Commit()
}

// Do executes a batch for a caller that is not an event loop. It does not wait for done.
func (x *Executor) Do(batch *engine.Batch, done func(error)) {
	x.Gather(batch, done)
	x.Commit()
}

// Await executes a batch and returns its error. If ctx ends first, it returns the cause of the end,
// and the [Exec] still owns the batch; c.Wait then waits again.
func (x *Executor) Await(ctx context.Context, c *Caller, batch *engine.Batch) error {
	x.Do(batch, c.Answer)
	return c.Wait(ctx)
}

// queue has a batch wait for its turn.
func (x *Executor) queue(batch *engine.Batch, done func(error)) {
	bytes, _ := batch.Sizes()
	wait := turns.MaxOwnWait
	if batch.Runs > 0 {
		wait = turns.WaitOf(batch.Work, turns.MaxOwnWait)
	}
	x.Turns.Add(turns.Turn{Bytes: bytes, Work: batch.Work, Wait: wait, Done: done, Do: func(done func(error)) {
		defer fatal.OnPanic()
		x.Exec.Exec(batch, done)
		x.Exec.Commit()
	}})
}

// A Caller waits for one answer at a time. It has a channel, so reuse it.
type Caller struct {
	// Answer passes an error, or nil, to Wait. It does not block if the Caller waits for one
	// answer at a time.
	Answer  func(error)
	answers chan error
}

// NewCaller makes a Caller.
func NewCaller() *Caller {
	answers := make(chan error, 1)
	return &Caller{func(err error) { answers <- err }, answers}
}

// Wait returns the answer. If ctx ends first, it returns the cause of the end.
func (c *Caller) Wait(ctx context.Context) error {
	select {
	case err := <-c.answers:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
