package persist

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// heldTables blocks the writer of the first table of a snapshot: it closes begun and
// waits for release.
type heldTables struct {
	once            sync.Once
	begun, released chan struct{}
}

func newHeldTables() *heldTables {
	return &heldTables{begun: make(chan struct{}), released: make(chan struct{})}
}

// MaybeError implements errorfs.Injector.
func (h *heldTables) MaybeError(op errorfs.Op) error {
	if op.Kind == errorfs.OpCreate && strings.Contains(op.Path, stagingName) {
		h.once.Do(func() {
			close(h.begun)
			<-h.released
		})
	}
	return nil
}

// String implements errorfs.Injector.
func (h *heldTables) String() string { return "held tables" }

// TestCloseCancelsSnapshot closes a Store during a snapshot: the snapshot is cancelled and
// removed, no other is taken, and the next start recovers everything from the log.
func TestCloseCancelsSnapshot(t *testing.T) {
	for _, parting := range []Parting{SaveIfQuick, SaveNever} {
		mem, held := vfs.NewMem(), newHeldTables()
		o := testOptions(t, errorfs.Wrap(mem, held), EverySecond)
		o.quickKeys = 20
		rng, counts := rand.New(rand.NewPCG(1, 1)), newCounters()
		s := start(t, o)
		takeSome(t, s, counts, rng, 100)
		saved := make(chan error, 1)
		if err := s.Save(func(_ Info, err error) { saved <- err }); err != nil {
			t.Fatal(err)
		}
		<-held.begun
		go func() {
			<-s.saving.Done() // Close has begun
			close(held.released)
		}()
		if err := s.Close(context.Background(), parting); err != nil {
			t.Fatal(err)
		}
		if err := <-saved; !errors.Is(err, context.Canceled) {
			t.Errorf("%v: the cancelled snapshot ended with %v", parting, err)
		}
		if _, err := mem.Stat(mem.PathJoin(testDir, snapshotsDir, stagingName)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: files of it are left: %v", parting, err)
		}
		s = start(t, o)
		checkCounts(t, s, counts.copy(), true)
		if last, ok := s.saver.latest(); ok {
			t.Errorf("%v: there is a snapshot of %d keys", parting, last.Keys)
		}
		end(t, s, false)
	}
}

// TestCloseSaves closes Stores with more and with fewer keys than a quick snapshot may
// have, and without room for a snapshot.
func TestCloseSaves(t *testing.T) {
	for _, tt := range []struct {
		parting Parting
		keys    int64
		free    uint64 // bytes
		want    uint64
		full    bool
	}{
		{SaveIfQuick, quickKeys, 1 << 40, 1, false},
		{SaveIfQuick, 20, 1 << 40, 0, false},
		{SaveIfQuick, quickKeys, 1 << 10, 0, false},
		{SaveAlways, 20, 1 << 40, 1, false},
		{SaveAlways, 20, 1 << 10, 0, true},
		{SaveNever, quickKeys, 1 << 10, 0, false},
	} {
		disk := &smallDisk{vfs.NewMem(), 1 << 40}
		o := testOptions(t, disk, EverySecond)
		o.quickKeys, o.quickSave = tt.keys, time.Hour
		rng, counts := rand.New(rand.NewPCG(1, 1)), newCounters()
		s := start(t, o)
		takeSome(t, s, counts, rng, 100)
		disk.free = tt.free
		if err := s.Close(context.Background(), tt.parting); IsFull(err) != tt.full || !tt.full && err != nil {
			t.Fatalf("parting %v with %d bytes free: %v, want no room: %v", tt.parting, tt.free, err, tt.full)
		}
		s = start(t, o)
		checkCounts(t, s, counts.copy(), true)
		if last, _ := s.saver.latest(); last.Generation != tt.want {
			t.Errorf("parting %v with at most %d keys: snapshot %d, want %d", tt.parting, tt.keys, last.Generation, tt.want)
		}
		end(t, s, false)
	}
}
