package commands

import (
	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/fatal"
)

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

// exec passes a batch to the Exec. A panic in the Exec ends the process: it may hold
// locks and have left the state half changed, and every later command would hang.
func (h *Handler) exec(batch *engine.Batch, done func(error)) {
	defer fatal.OnPanic()
	h.config.Exec.Exec(batch, done)
}

// commit calls f, a Commit function, and ends the process if it panics.
func commit(f func()) {
	defer fatal.OnPanic()
	f()
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

// Scan calls engine.Engine.Scan for database 0. visit must not panic either.
func (s State) Scan(now engine.Instant, cursor uint64, count int, visit func(key []byte, alg engine.Alg)) uint64 {
	defer fatal.OnPanic()
	return s.engine.Scan(now, 0, cursor, count, visit)
}

// KeyBytes calls engine.Engine.KeyBytes for database 0.
func (s State) KeyBytes(now engine.Instant, key []byte) int64 {
	defer fatal.OnPanic()
	return s.engine.KeyBytes(now, 0, key)
}

// Top calls engine.Engine.Top.
func (s State) Top(now engine.Instant, what engine.TopKind, window topk.Window, count int) engine.TopResult {
	defer fatal.OnPanic()
	return s.engine.Top(now, what, window, count)
}
