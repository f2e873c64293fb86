package engine_test

import (
	"fmt"
	"testing"

	"limitsrv/engine"
)

// TestShardStats checks that the shards' statistics add up to the engine's, as it grows
// and after a flush.
func TestShardStats(t *testing.T) {
	at := instant("2025-06-15T12:34:56Z")
	e := engine.New(engine.Options{Shards: 8})
	check := func(when string, used int) {
		t.Helper()
		var sum engine.ShardStat
		withKeys := 0
		shards := e.ShardStats(nil)
		for _, s := range shards {
			sum.Keys += s.Keys
			sum.MemoryBytes += s.MemoryBytes
			if s.Keys > 0 {
				withKeys++
			}
		}
		all := e.Stats()
		if sum != (engine.ShardStat{Keys: all.Keys, MemoryBytes: all.MemoryBytes}) || len(shards) != 8 || withKeys != used {
			t.Errorf("%s: %d shards, %d with keys, have %+v, want 8, %d and the sums of %+v", when, len(shards), withKeys, sum,
				used, all)
		}
	}
	check("empty", 0)
	apply(e, at, one(counter(engine.Token, 5), []byte("key"), ""))
	check("with a key", 1)
	for i := range 1000 {
		apply(e, at, one(counter(engine.Log, 5), fmt.Append(nil, "key ", i), ""))
	}
	check("with many keys", 8)
	apply(e, at, engine.Op{Kind: engine.Flush})
	check("flushed", 0)
	stats := e.ShardStats(nil)
	if n := testing.AllocsPerRun(10, func() { stats = e.ShardStats(stats[:0]) }); n > 0 {
		t.Errorf("ShardStats allocates %v times with enough capacity", n)
	}
}
