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
		entry.Append(engine.Instant(index), &engine.Batch{Ops: []engine.Op{{Kind: engine.Take, N: 1, Key: key, Params: everyAlgorithm["fixed"]}}})
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
