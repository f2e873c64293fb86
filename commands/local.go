package commands

import "limitsrv/engine"

// Local is the Exec of one node that keeps its state in memory: it carries a
// batch out at once, on the caller's goroutine, at one reading of its clock.
type Local struct {
	Engine *engine.Engine
	Clock  Clock
}

// Exec applies the batch and calls done before it returns.
func (l *Local) Exec(batch *engine.Batch, done func(error)) {
	l.Engine.Apply(l.Clock.Now(), batch)
	done(nil)
}
