package session

import (
	"slices"

	"limitsrv/commands/backend"
	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/internal/fatal"
	"limitsrv/internal/invariants"
)

// execute passes a batch to an Exec. A panic in the Exec ends the process: it may hold
// locks and have left the state half changed, and every later command would hang.
func execute(e backend.Exec, batch *engine.Batch, done func(error)) {
	defer fatal.OnPanic()
	e.Exec(batch, done)
}

// exec executes a batch of a session. A slow one that this node decides waits for its turn; the
// leader has the turns of those that it is to decide.
func (h *Handler) exec(batch *engine.Batch, done func(error)) {
	if batch.Slow && (batch.Stale || h.config.Cluster.Leads()) {
		h.turns.add(h.config.Exec, batch, maxWait(batch), done)
		return
	}
	execute(h.config.Exec, batch, done)
}

// exec executes the batch of a session. Its grants count until release.
func (s *Session) exec() {
	if s.granted = s.g.batch.Granted; s.granted > 0 {
		s.h.granted.Add(s.granted)
	}
	if s.tracks != nil && s.tracks.order == freshFirst {
		s.execFresh()
		return
	}
	s.execNow()
}

// execNow is exec without its conditions.
func (s *Session) execNow() {
	if s.g.tally.any() {
		s.execBounded()
		return
	}
	s.h.exec(&s.g.batch, s.done)
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

// ExecOfOthers executes a batch of another node by next, a slow one when it is its turn. As
// backend.Exec.Exec it does not block.
func (h *Handler) ExecOfOthers(next backend.Exec, batch *engine.Batch, done func(error)) {
	if granted := batch.Granted; granted > 0 {
		h.granted.Add(granted)
		answer := done
		done = func(err error) {
			h.granted.Add(-granted)
			answer(err)
		}
	}
	if batch.Slow {
		h.turns.add(next, batch, maxTurnWait, done)
		return
	}
	execute(next, batch, done)
}

// Granted returns the sum of Batch.Granted of the batches with runs of scripts that are being
// executed, those of other nodes included. Cost: an atomic read.
func (h *Handler) Granted() int64 { return h.granted.Load() }

// Commit calls the Commit of the Exec; see there. It is for the server, which calls it for
// the batches of many sessions at once. A panic ends the process.
func (h *Handler) Commit() {
	defer fatal.OnPanic()
	h.config.Exec.Commit()
}

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
