package backend

import "limitsrv/engine"

// An Exec is the state of a node: it decides batches of ops. Only an [Executor] calls it.
//
// Exec executes one batch, in order. It must call done exactly once, with every decision
// in place or with the error of the whole batch: before Exec returns on one node, later
// and from another goroutine after commit in a cluster. It must not block the caller. The
// Exec owns the batch, and the bytes that it points to, until done is called.
//
// Commit returns when decisions that are done may be sent, and makes the other batches begin, so
// that the batches of one wake-up of an event loop are logged together.
//
// Concurrency: any number of goroutines may call both.
type Exec interface {
	Exec(batch *engine.Batch, done func(error))
	Commit()
}

// Local is the [Exec] of a single node that keeps its state in memory. It applies a batch
// on the caller's goroutine at one clock reading.
type Local struct {
	Engine  *engine.Engine
	Clock   Clock
	Notices *engine.Notices // receives the changes of the batches; nil: they are dropped
}

// Exec applies the batch and calls done before it returns.
func (l *Local) Exec(batch *engine.Batch, done func(error)) {
	now := l.Clock.Now()
	batch.Notices = l.Notices
	l.Engine.MakeRoom(now, batch)
	l.Engine.SetMoments(now, batch)
	l.Engine.Apply(now, batch)
	l.Notices.Send()
	done(nil)
}

// Commit does nothing: there is no log.
func (*Local) Commit() {}
