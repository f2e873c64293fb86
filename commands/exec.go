package commands

import (
	"limitsrv/engine"
	"limitsrv/fatal"
)

// An Exec performs a batch of ops in order. done is called once, with every
// answer in place or with the error that befell the batch: before Exec returns
// in one node, later and from another goroutine after commit in a cluster. Exec
// must not block the caller. Many may call at once. The batch and the bytes that
// it points to belong to the Exec until done is called.
type Exec interface {
	Exec(batch *engine.Batch, done func(error))
}

// exec hands a batch to the Exec. A panic there ends the process: locks may be held
// and the state half changed, and every later command would hang.
func (h *Handler) exec(batch *engine.Batch, done func(error)) {
	defer fatal.OnPanic()
	h.config.Exec.Exec(batch, done)
}

// commit calls a Commit, with the same end of a panic.
func commit(f func()) {
	defer fatal.OnPanic()
	f()
}

// A State is the engine for reads that are no ops. A panic in one ends the process,
// as in Exec: it may hold the lock of a shard.
type State struct{ engine *engine.Engine }

// Engine is the engine that decides at the moment; see Config.Engine.
func (h *Handler) Engine() State { return State{h.config.Engine()} }

// Len is the number of keys.
func (s State) Len() int64 {
	defer fatal.OnPanic()
	return s.engine.Len()
}

// Stats are those of engine.Engine.
func (s State) Stats() engine.Stats {
	defer fatal.OnPanic()
	return s.engine.Stats()
}

// ShardStats are those of engine.Engine.
func (s State) ShardStats() []engine.ShardStat {
	defer fatal.OnPanic()
	return s.engine.ShardStats(nil)
}

// Scan is that of engine.Engine. visit must not panic either.
func (s State) Scan(now engine.Instant, cursor uint64, count int, visit func(key []byte, alg engine.Alg)) uint64 {
	defer fatal.OnPanic()
	return s.engine.Scan(now, cursor, count, visit)
}

// KeyBytes is that of engine.Engine.
func (s State) KeyBytes(now engine.Instant, key []byte) int64 {
	defer fatal.OnPanic()
	return s.engine.KeyBytes(now, key)
}

// Top is that of engine.Engine.
func (s State) Top(now engine.Instant, what engine.TopKind, window engine.TopWindow, count int) engine.TopResult {
	defer fatal.OnPanic()
	return s.engine.Top(now, what, window, count)
}
