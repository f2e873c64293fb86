package commands

import "limitsrv/engine"

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

// Commit does nothing: there is no log.
func (*Local) Commit() {}
