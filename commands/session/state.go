package session

import (
	"slices"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/internal/fatal"
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
	if s.state.Swap(arrived) == away {
		s.client.Wake()
	}
}

// checkState checks that the state of the batch is one in which an event may happen.
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
// executed, those of other nodes included. Cost: an atomic read.
func (h *Handler) Granted() int64 { return h.granted.Load() }

// TakeTurn calls work in another goroutine when its turn among the slow batches has come, and then
// calls done. If too many wait, it calls only done, with an error. It does not block.
func (h *Handler) TakeTurn(work func(), done func(error)) {
	h.executor.Turns.Add(turns.Turn{Wait: turns.MaxOwnWait, Done: done, Do: func(done func(error)) {
		work()
		done(nil)
	}})
}

// Turns returns the number of slow batches that wait for their turn, and that of all slow batches
// so far, except for those that were refused at once.
func (h *Handler) Turns() (waiting int, added int64) { return h.executor.Turns.Counts() }

// Executor returns the executor of all batches of this node's clients.
func (h *Handler) Executor() *backend.Executor { return &h.executor }

// A State reads the engine outside of batches. A panic in one of its methods ends the
// process, as in Exec, because it may hold the lock of a shard.
type State struct{ engine *engine.Engine }

// KeysIn calls engine.Engine.KeysIn.
func (s State) KeysIn() (keys, lasting [engine.Databases]int64) {
	defer fatal.OnPanic()
	return s.engine.KeysIn()
}

// Len returns the number of keys.
func (s State) Len() int64 {
	defer fatal.OnPanic()
	return s.engine.Len()
}

// Stats calls engine.Engine.Stats.
func (s State) Stats() engine.Stats {
	defer fatal.OnPanic()
	return s.engine.Stats()
}

// ShardStats calls engine.Engine.ShardStats.
func (s State) ShardStats() []engine.ShardStat {
	defer fatal.OnPanic()
	return s.engine.ShardStats(nil)
}

// Scan calls engine.Engine.Scan. visit must not panic either.
func (s State) Scan(now engine.Instant, db uint8, cursor uint64, count int, visit func(key []byte, alg engine.Alg)) uint64 {
	defer fatal.OnPanic()
	return s.engine.Scan(now, db, cursor, count, visit)
}

// KeyBytes calls engine.Engine.KeyBytes.
func (s State) KeyBytes(now engine.Instant, db uint8, key []byte) int64 {
	defer fatal.OnPanic()
	return s.engine.KeyBytes(now, db, key)
}

// SourceStats calls engine.Engine.SourceStats.
func (s State) SourceStats(most int) engine.SourceStats {
	defer fatal.OnPanic()
	return s.engine.SourceStats(most)
}

// Top calls engine.Engine.Top.
func (s State) Top(now engine.Instant, what engine.TopKind, window topk.Window, count int) engine.TopResult {
	defer fatal.OnPanic()
	return s.engine.Top(now, what, window, count)
}

// ClosedBoxes calls engine.Engine.ClosedBoxes.
func (s State) ClosedBoxes(now engine.Instant) []engine.ClosedBox {
	defer fatal.OnPanic()
	return s.engine.ClosedBoxes(now)
}
