package fsm

import (
	"bytes"
	"slices"
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
)

// Entries with decreasing stamps are applied at the latest earlier stamp.
func TestFSMStamps(t *testing.T) {
	f := newTestFSM()
	var got []engine.Instant
	f.o.Applied = func(_ *FSM, _ uint64, stamp engine.Instant, _ *engine.Batch) { got = append(got, stamp) }
	for i, stamp := range []engine.Instant{10, 5, 11} {
		var entry persist.Entry
		entry.Append(stamp, &engine.Batch{Ops: []engine.Op{{Kind: engine.Peek, Key: []byte("k")}}})
		f.Apply(&raft.Log{Index: uint64(i + 1), Data: entry.Bytes()})
	}
	if want := []engine.Instant{10, 10, 11}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("entries were applied at %v, want %v", got, want)
	}
}

// A leader evicts keys: it counts them when it applies its proposal, and a follower when it
// applies the entry. Keys that a client deletes do not count.
func TestEvictionsAreCounted(t *testing.T) {
	leader, follower := newTestFSM(), newTestFSM()
	take := &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, N: 1, Key: []byte("new"), Params: everyAlgorithm["fixed"]}}}
	stored := &engine.Batch{}
	for _, key := range []string{"evicted 1", "evicted 2", "deleted"} {
		stored.Ops = append(stored.Ops, engine.Op{Kind: engine.Take, N: 1, Key: []byte(key), Params: everyAlgorithm["fixed"]})
	}
	deletes := &engine.Batch{Ops: []engine.Op{{Kind: engine.Forget, Key: []byte("deleted")}}}
	evict := func(key string) engine.Op { return engine.Evict(0, []byte(key)) }
	evicts := &engine.Batch{Ops: []engine.Op{evict("evicted 1"), evict("evicted 2"), evict("missing")}}
	for i, batches := range []batchGroup{{stored}, {evicts, take}, {deletes}} {
		var entry persist.Entry
		for _, b := range batches {
			entry.Append(1e18, b)
		}
		done := false
		p := NewProposal(1e18, batches, entry.Bytes(), func() { done = true })
		leader.Propose(p)
		leader.Apply(&raft.Log{Index: uint64(i + 1), Data: p.Entry()})
		follower.Apply(&raft.Log{Index: uint64(i + 1), Data: bytes.Clone(p.Entry())})
		if !done {
			t.Fatalf("the leader decodes its entry %d", i)
		}
	}
	for name, f := range map[string]*FSM{"leader": leader, "follower": follower} {
		if got := f.Engine().Stats().Evicted; got != 2 || f.Engine().Len() != 1 {
			t.Errorf("the %s counts %d evictions, want 2, and has %d keys, want 1", name, got, f.Engine().Len())
		}
	}
}

// A batchGroup is a Group that nobody else claims.
type batchGroup []*engine.Batch

func (g batchGroup) Claim() bool { return true }

func (g batchGroup) Batches(yield func(*engine.Batch) bool) { slices.Values(g)(yield) }
