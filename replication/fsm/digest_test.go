package fsm

import (
	"fmt"
	"testing"

	"github.com/hashicorp/raft"

	"limitsrv/engine"
	"limitsrv/persist"
)

// The digest belongs to its index, also while entries are applied.
func TestDigestOfIndex(t *testing.T) {
	const entries = 3000
	busy, replica := newTestFSM(), newTestFSM()
	apply := func(f *FSM, index uint64) {
		var entry persist.Entry
		key := fmt.Appendf(nil, "k%d", index%50)
		entry.Append(engine.Instant(index),
			&engine.Batch{Ops: []engine.Op{{Kind: engine.Take, N: 1, Key: key, Params: everyAlgorithm["fixed"]}}})
		f.Apply(&raft.Log{Index: index, Data: entry.Bytes()})
	}
	want := make([]uint64, entries+1)
	for i := uint64(1); i <= entries; i++ {
		apply(replica, i)
		_, want[i] = replica.Digest()
	}
	applied := make(chan struct{})
	go func() {
		defer close(applied)
		for i := uint64(1); i <= entries; i++ {
			apply(busy, i)
		}
	}()
	for asked := 0; ; asked++ {
		index, digest := busy.Digest()
		if index > 0 && digest != want[index] {
			t.Fatalf("after %d digests: that of entry %d is %x, want %x", asked, index, digest, want[index])
		}
		if index == entries {
			break
		}
	}
	<-applied
}

// TestDigestAtStamp: the digest is of the time of the last entry, also if that enters no shard, and
// if a shard of this node alone has seen that time.
func TestDigestAtStamp(t *testing.T) {
	one, other := newTestFSM(), newTestFSM()
	key := []byte("k")
	for _, f := range []*FSM{one, other} {
		for i, op := range []engine.Op{{N: 1, Key: key, Params: everyAlgorithm["fixed"]}, {Kind: engine.Learn, N: 1}} {
			var entry persist.Entry
			entry.Append(engine.Instant(1+int64(i)*int64(engine.MaxPeriod)), &engine.Batch{Ops: []engine.Op{op}})
			f.Apply(&raft.Log{Index: uint64(i + 1), Data: entry.Bytes()})
		}
	}
	other.Engine().SetTime(other.Stamp())
	_, want := one.Digest()
	if _, got := other.Digest(); got != want {
		t.Errorf("digest %x, of a node whose shards have seen the time %x", want, got)
	}
}
