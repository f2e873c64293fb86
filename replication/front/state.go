package front

import (
	"limitsrv/engine"
	"limitsrv/engine/topk"
	"limitsrv/replication/fronts"
)

// A State is the state of the group as a front reads it: the counts of its leader, at most a second
// old unless Fresh was called, and reads of the keys, which block until the leader has answered.
type State struct{ *Front }

func (s State) last() fronts.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// KeysIn returns the numbers of keys, and of keys that do not expire, in each database.
func (s State) KeysIn() (keys, lasting [engine.Databases]int64) {
	c := s.last()
	return c.Keys, c.Lasting
}

// Len returns the number of keys.
func (s State) Len() int64 { return s.last().Len }

// Stats returns the counts of decisions.
func (s State) Stats() engine.Stats { return s.last().Stats }

// ShardStats returns the statistics of each shard.
func (s State) ShardStats() []engine.ShardStat { return s.last().Shards }

// SourceStats returns the statistics of sources, with up to most of the costliest sources.
func (s State) SourceStats(most int) engine.SourceStats {
	t := s.last().Sources
	t.Costliest = t.Costliest[:min(most, len(t.Costliest))]
	return t
}

// Scan is engine.Engine.Scan at the leader. It may stop earlier than asked. An error means that the
// leader has not answered.
func (s State) Scan(now engine.Instant, db uint8, cursor uint64, count int,
	visit func(key []byte, alg engine.Alg)) (uint64, error) {
	r, err := s.read(fronts.ReadRequest{Kind: fronts.ReadScan, Now: now, DB: db, Cursor: cursor, Count: count})
	for _, k := range r.Keys {
		visit(k.Key, k.Alg)
	}
	return r.Cursor, err
}

// KeyBytes is engine.Engine.KeyBytes at the leader.
func (s State) KeyBytes(now engine.Instant, db uint8, key []byte) int64 {
	r, _ := s.read(fronts.ReadRequest{Kind: fronts.ReadBytes, Now: now, DB: db, Key: key})
	return r.Bytes
}

// Top is engine.Engine.Top at the leader.
func (s State) Top(now engine.Instant, kind engine.TopKind, window topk.Window, count int) engine.TopResult {
	r, _ := s.read(fronts.ReadRequest{Kind: fronts.ReadTop, Now: now, Top: kind, Window: window, Count: count})
	return r.Top
}

// ClosedBoxes is engine.Engine.ClosedBoxes at the leader.
func (s State) ClosedBoxes(now engine.Instant) []engine.ClosedBox {
	r, _ := s.read(fronts.ReadRequest{Kind: fronts.ReadBoxes, Now: now})
	return r.Boxes
}
