package backend

import "limitsrv/engine"

// An Exec executes a batch of ops in order.
//
// It must call done exactly once, with every decision in place or with the error of the
// whole batch: before Exec returns on one node, later and from another goroutine after
// commit in a cluster. It must not block the caller. The Exec owns the batch, and the
// bytes that it points to, until done is called.
//
// Concurrency: any number of goroutines may call Exec.
type Exec interface {
	Exec(batch *engine.Batch, done func(error))
}

// Local is the Exec of a single node that keeps its state in memory. It applies a batch
// on the caller's goroutine at one clock reading.
type Local struct {
	Engine *engine.Engine
	Clock  Clock
}

// Exec applies the batch and calls done before it returns.
func (l *Local) Exec(batch *engine.Batch, done func(error)) {
	l.Engine.Apply(l.Clock.Now(), batch)
	done(nil)
}
