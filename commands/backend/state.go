package backend

import (
	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/internal/fatal"
)

// A State reads the keys outside of batches. [engine.Engine] has these methods, and their
// contracts.
//
// Concurrency: any number of goroutines may call its methods.
type State interface {
	KeysIn() (keys, lasting [engine.Databases]int64)
	Len() int64
	Stats() engine.Stats
	ShardStats() []engine.ShardStat
	// Scan calls visit, which must not panic. The error is of another node that did not answer.
	Scan(now engine.Instant, db uint8, cursor uint64, count int, visit func(key []byte, alg engine.Alg)) (uint64, error)
	KeyBytes(now engine.Instant, db uint8, key []byte) int64
	SourceStats(most int) engine.SourceStats
	Top(now engine.Instant, kind engine.TopKind, window topk.Window, count int) engine.TopResult
	ClosedBoxes(now engine.Instant) []engine.ClosedBox
}

// A LocalState is the State of an engine in this process. A panic in one of its methods ends the
// process, as in an Executor, because it may hold the lock of a shard.
type LocalState struct{ Engine *engine.Engine }

// KeysIn calls engine.Engine.KeysIn.
func (s LocalState) KeysIn() (keys, lasting [engine.Databases]int64) {
	defer fatal.OnPanic()
	return s.Engine.KeysIn()
}

// Len calls engine.Engine.Len.
func (s LocalState) Len() int64 {
	defer fatal.OnPanic()
	return s.Engine.Len()
}

// Stats calls engine.Engine.Stats.
func (s LocalState) Stats() engine.Stats {
	defer fatal.OnPanic()
	return s.Engine.Stats()
}

// ShardStats calls engine.Engine.ShardStats.
func (s LocalState) ShardStats() []engine.ShardStat {
	defer fatal.OnPanic()
	return s.Engine.ShardStats(nil)
}

// Scan calls engine.Engine.Scan.
func (s LocalState) Scan(now engine.Instant, db uint8, cursor uint64, count int,
	visit func(key []byte, alg engine.Alg)) (uint64, error) {
	defer fatal.OnPanic()
	return s.Engine.Scan(now, db, cursor, count, visit), nil
}

// KeyBytes calls engine.Engine.KeyBytes.
func (s LocalState) KeyBytes(now engine.Instant, db uint8, key []byte) int64 {
	defer fatal.OnPanic()
	return s.Engine.KeyBytes(now, db, key)
}

// SourceStats calls engine.Engine.SourceStats.
func (s LocalState) SourceStats(most int) engine.SourceStats {
	defer fatal.OnPanic()
	return s.Engine.SourceStats(most)
}

// Top calls engine.Engine.Top.
func (s LocalState) Top(now engine.Instant, kind engine.TopKind, window topk.Window, count int) engine.TopResult {
	defer fatal.OnPanic()
	return s.Engine.Top(now, kind, window, count)
}

// ClosedBoxes calls engine.Engine.ClosedBoxes.
func (s LocalState) ClosedBoxes(now engine.Instant) []engine.ClosedBox {
	defer fatal.OnPanic()
	return s.Engine.ClosedBoxes(now)
}
