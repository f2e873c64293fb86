package replication

import (
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
)

// Entries with decreasing stamps are applied at the latest earlier stamp.
func TestFSMStamps(t *testing.T) {
	f := newFSM(new(membership), monotonicClock(), nil)
	var got []engine.Instant
	f.applied = func(_ uint64, stamp engine.Instant, _ *engine.Batch) { got = append(got, stamp) }
	for i, stamp := range []engine.Instant{10, 5, 11} {
		var entry persist.Entry
		entry.Append(stamp, &engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("k")}}})
		f.Apply(&raft.Log{Index: uint64(i + 1), Data: entry.Bytes()})
	}
	if want := []engine.Instant{10, 10, 11}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("entries were applied at %v, want %v", got, want)
	}
}
