package session

import (
	"slices"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/internal/invariants"
	"limitsrv/internal/turns"
)

// mayExec prepares the pending batch, and reports whether to execute it now. If not, it is executed
// later in another goroutine. Its grants count until release.
func (s *Session) mayExec() bool {
	if s.granted = s.g.batch.Granted; s.granted > 0 {
		s.h.granted.Add(s.granted)
	}
	if s.tracks != nil && s.tracks.order == freshFirst {
		s.execFresh()
		return false
	}
	return !s.g.tally.any() || s.mayEnter()
}

// release ends the grants of the batch that was in flight, if it had any.
func (s *Session) release() {
	if s.granted > 0 {
		s.h.granted.Add(-s.granted)
		s.granted = 0
	}
}

// arrived is the done callback of the session's batches.
func (s *Session) arrived(err error) {
	if invariants.Enabled {
		s.checkState("done is called", executing, away, closed)
	}
	s.err = err
	s.release()
	if err == nil && s.g != nil && s.g.batch.Slow {
		s.g.renderAhead(s.w.Proto3)
	}
	if s.state.Swap(arrived) == away {
		s.client.Wake()
	}
}

// checkState checks that the state of the batch allows an event.
func (s *Session) checkState(event string, in ...int32) {
	if state := s.state.Load(); !slices.Contains(in, state) {
		invariants.Violated("%s in the state %d, want one of %d", event, state, slices.Clone(in))
	}
}

// CountGranted counts the grants of a batch of another node until its answer. It returns the
// function to call with the answer, in place of done.
func (h *Handler) CountGranted(batch *engine.Batch, done func(error)) func(error) {
	granted := batch.Granted
	if granted == 0 {
		return done
	}
	h.granted.Add(granted)
	return func(err error) {
		h.granted.Add(-granted)
		done(err)
	}
}

// Granted returns the sum of Batch.Granted of the batches with runs of scripts that are being
// executed, batches of other nodes included. Cost: an atomic read.
func (h *Handler) Granted() int64 { return h.granted.Load() }

// TakeTurn calls work in another goroutine when its turn among the slow batches has come, and then
// calls done. If too many wait, it calls only done, with an error. It does not block.
func (h *Handler) TakeTurn(work func(), done func(error)) {
	h.executor.Turns.Add(turns.Turn{Wait: turns.MaxOwnWait, Done: done, Do: func(done func(error)) {
		work()
		done(nil)
	}})
}

// Turns returns the number of slow batches that wait for their turn, and the number of all slow
// batches so far, except batches that were refused at once.
func (h *Handler) Turns() (waiting int, added int64) { return h.executor.Turns.Counts() }

// Executor returns the executor of all batches of this node's clients.
func (h *Handler) Executor() *backend.Executor { return &h.executor }
