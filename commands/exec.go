package commands

import (
	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/fatal"
)

// An Exec executes batches of ops, in two steps, so that the batches of one wake-up of an
// event loop are logged together.
//
// Exec executes one batch, in order. It must call done exactly once, with every decision
// in place or with the error of the whole batch: before Exec returns on one node, later
// and from another goroutine after commit in a cluster. It must not block the caller. The
// Exec owns the batch, and the bytes that it points to, until done is called.
//
// Commit must follow the Execs of a caller, before it sends their decisions or waits for
// done: it returns when decisions that are done may be sent, and makes the others begin.
//
// Concurrency: any number of goroutines may call both.
type Exec interface {
	Exec(batch *engine.Batch, done func(error))
	Commit()
}

// exec passes a batch to the Exec. A panic in the Exec ends the process: it may hold
// locks and have left the state half changed, and every later command would hang.
func (h *Handler) exec(batch *engine.Batch, done func(error)) {
	defer fatal.OnPanic()
	h.config.Exec.Exec(batch, done)
}

// Commit calls the Commit of the Exec; see there. It is for the server, which calls it for
// the batches of many sessions at once. A panic ends the process.
func (h *Handler) Commit() {
	defer fatal.OnPanic()
	h.config.Exec.Commit()
}

// A State reads the engine outside of batches. A panic in one of its methods ends the
// process, as in Exec, because it may hold the lock of a shard.
type State struct{ engine *engine.Engine }

// Engine returns the current engine; see Config.Engine.
func (h *Handler) Engine() State { return State{h.config.Engine()} }

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
func (s State) Scan(now engine.Instant, cursor uint64, count int, visit func(key []byte, alg engine.Alg)) uint64 {
	defer fatal.OnPanic()
	return s.engine.Scan(now, cursor, count, visit)
}

// KeyBytes calls engine.Engine.KeyBytes.
func (s State) KeyBytes(now engine.Instant, key []byte) int64 {
	defer fatal.OnPanic()
	return s.engine.KeyBytes(now, key)
}

// Top calls engine.Engine.Top.
func (s State) Top(now engine.Instant, what engine.TopKind, window topk.Window, count int) engine.TopResult {
	defer fatal.OnPanic()
	return s.engine.Top(now, what, window, count)
}
