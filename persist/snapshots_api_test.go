package persist

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"limitsrv/internal/testing/testwait"
)

// hookSource is a source that calls a function at one of its blocks.
type hookSource struct {
	*fakeSource
	at    int // blocks before the call
	trick func(block []byte, first uint64) uint64
}

func (s *hookSource) Next(shard int, dst []byte) ([]byte, uint64, bool) {
	block, first, ok := s.fakeSource.Next(shard, dst)
	if ok {
		if s.at == 0 {
			s.at--
			return block, s.trick(block, first), true
		}
		s.at--
	}
	return block, first, ok
}

func TestSnapshotsWriteCancelled(t *testing.T) {
	a, b := newState(1, 2000, 0), newState(2, 2000, 0)
	for _, tt := range []struct {
		name  string
		trick func(cancel func(), first uint64) uint64
		want  string
	}{
		{"it is cancelled", func(cancel func(), first uint64) uint64 { cancel(); return first }, "context canceled"},
		{"a block is out of order", func(_ func(), _ uint64) uint64 { return 1 }, "increasing order"},
	} {
		s := openTest(t, vfs.NewMem(), "/snapshots")
		mustWrite(t, s, a, 1)
		ctx, cancel := context.WithCancel(context.Background())
		source := &hookSource{b.source(), 5, func(_ []byte, first uint64) uint64 { return tt.trick(cancel, first) }}
		if _, err := s.Write(ctx, source, metaOf(2), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Write() = %v, want %q", tt.name, err, tt.want)
		}
		cancel()
		if source.at != -1 {
			t.Errorf("%s: %d more blocks were read", tt.name, -1-source.at)
		}
		if err := holds(s, a, 1); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		mustWrite(t, s, b, 3)
		if err := holds(s, b, 3); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestSnapshotsShardsOutOfOrder(t *testing.T) {
	a := newState(1, 2000, 1)
	a.shards[0], a.shards[1] = a.shards[1], a.shards[0]
	s := openTest(t, vfs.NewMem(), "/snapshots")
	if _, err := s.Write(context.Background(), a.source(), Meta{}, nil); err == nil ||
		!strings.Contains(err.Error(), "out of order") {
		t.Errorf("Write() = %v", err)
	}
	if all, err := s.All(); len(all) != 0 || err != nil {
		t.Errorf("All() = %v, %v", all, err)
	}
}

func TestSnapshotsSinkError(t *testing.T) {
	s := openTest(t, vfs.NewMem(), "/snapshots")
	info := mustWrite(t, s, newState(1, 2000, 1), 1)
	full := errors.New("no memory")
	err := s.Load(context.Background(), info, &fakeSink{refuse: full}, 2, nil)
	var corrupt *CorruptError
	if !errors.Is(err, full) || errors.As(err, &corrupt) {
		t.Errorf("Load() = %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Load(ctx, info, &fakeSink{}, 2, nil); !errors.Is(err, context.Canceled) || errors.As(err, &corrupt) {
		t.Errorf("cancelled Load() = %v", err)
	}
}

func TestSnapshotsProgress(t *testing.T) {
	state := newState(1, 400_000, 3)
	s := openTest(t, vfs.NewMem(), "/snapshots")
	watch := func(what string) (Progress, func()) {
		var calls int
		var lastKeys, lastBytes int64
		reported := func(done, all, bytes int64) {
			calls++
			if done < lastKeys || bytes < lastBytes || all != state.keys || done > all {
				t.Errorf("%s: %d of %d keys, %d bytes after %d and %d", what, done, all, bytes, lastKeys, lastBytes)
			}
			if want := float64(bytes) / float64(state.bytes()); float64(done) < (want-0.05)*float64(all) ||
				float64(done) > (want+0.05)*float64(all) {
				t.Errorf("%s: %d of %d keys after %.2f of the bytes", what, done, all, want)
			}
			lastKeys, lastBytes = done, bytes
		}
		return reported, func() {
			if calls < 4 || lastKeys != state.keys || lastBytes != state.bytes() {
				t.Errorf("%s: after %d calls %d keys and %d bytes", what, calls, lastKeys, lastBytes)
			}
		}
	}
	tell, check := watch("Write")
	info, err := s.Write(context.Background(), state.source(), Meta{}, tell)
	if err != nil {
		t.Fatal(err)
	}
	check()
	tell, check = watch("Load")
	if err := s.Load(context.Background(), info, &fakeSink{}, 2, tell); err != nil {
		t.Fatal(err)
	}
	check()
}

// twoSnapshots returns the state after the older snapshot could not be removed.
func twoSnapshots(t *testing.T, a, b *fakeState) (*Snapshots, vfs.FS) {
	t.Helper()
	disk := vfs.NewMem()
	s := openTest(t, disk, "/snapshots")
	mustWrite(t, s, a, 1)
	s.fs = errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpRemove && strings.Contains(op.Path, recordPrefix) {
			return errors.New("not removed")
		}
		return nil
	}))
	mustWrite(t, s, b, 2)
	s.fs = disk
	if err := holds(s, b, 2); err != nil {
		t.Fatal(err)
	}
	return s, disk
}

func TestSnapshotsOlderNotRemoved(t *testing.T) {
	a, b := newState(1, 2000, 1), newState(2, 2000, 1)
	s, disk := twoSnapshots(t, a, b)
	name := "/snapshots/" + recordName(2)
	data, err := readSmall(disk, name, maxSealed)
	if err != nil {
		t.Fatal(err)
	}
	data[40] ^= 1
	put(t, disk, name, data)
	var corrupt *CorruptError
	if _, _, err := s.Latest(); !errors.As(err, &corrupt) || corrupt.File != name {
		t.Errorf("Latest() = %v", err)
	}
	all, err := s.All()
	if len(all) != 1 || !errors.As(err, &corrupt) {
		t.Fatalf("All() = %d, %v", len(all), err)
	}
	sink := &fakeSink{}
	if err := s.Load(context.Background(), all[0], sink, 2, nil); err != nil || !sink.equals(a.loaded()) {
		t.Errorf("Load() of the older = %v", err)
	}
	if err := s.Drop(context.Background(), 3); err == nil {
		t.Error("a missing snapshot was dropped")
	}
	if err := s.Drop(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	if err := holds(s, a, 1); err != nil {
		t.Errorf("after dropping the newer: %v", err)
	}
	mustWrite(t, s, b, 7)
	if all, err := s.All(); len(all) != 1 || all[0].LogIndex != 7 || err != nil {
		t.Errorf("All() = %v, %v", all, err)
	}
}

func TestSnapshotsNewer(t *testing.T) {
	disk := vfs.NewMem()
	s := openTest(t, disk, "/snapshots")
	mustWrite(t, s, newState(1, 100, 1), 1)
	data, err := seal(recordWhat, recordFormat+1, struct{ Other bool }{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, disk, "/snapshots/"+recordName(2), data)
	var newer *NewerError
	if _, _, err := s.Latest(); !errors.As(err, &newer) || !strings.Contains(err.Error(), "has format 2") {
		t.Errorf("Latest() = %v", err)
	}
	if _, err := s.Write(context.Background(), newState(1, 100, 1).source(), Meta{}, nil); !errors.As(err, &newer) {
		t.Errorf("Write() = %v", err)
	}
}

func TestSnapshotsCheckpoint(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		dir := t.TempDir()
		a, b := newState(1, 20000, 2), newState(2, 20000, 2)
		s := openTest(t, fsys, dir+"/snapshots")
		mustWrite(t, s, a, 1)
		if err := s.Checkpoint(dir + "/backups/1"); err != nil {
			t.Fatal(err)
		}
		if err := s.Checkpoint(dir + "/backups/1"); err == nil {
			t.Errorf("%s: a backup is overwritten", name)
		}
		mustWrite(t, s, b, 2)
		good, err := CheckSnapshots(context.Background(), fsys, dir+"/backups/1", SnapshotOptions{}, 2, anyBlock)
		if len(good) != 1 || err != nil {
			t.Errorf("%s: CheckSnapshots() = %d, %v", name, len(good), err)
		}
		backup := openTest(t, fsys, dir+"/backups/1")
		if err := holds(backup, a, 1); err != nil {
			t.Errorf("%s: the backup: %v", name, err)
		}
		mustWrite(t, backup, b, 3)
		if err := errors.Join(holds(backup, b, 3), holds(s, b, 2)); err != nil {
			t.Errorf("%s: after writes to both: %v", name, err)
		}
		if _, err := OpenSnapshots(fsys, dir+"/snapshots", SnapshotOptions{}); err == nil ||
			!strings.Contains(err.Error(), dir+"/snapshots") {
			t.Errorf("%s: OpenSnapshots() of a directory in use = %v", name, err)
		}
	}
}

// The rows differ from the record, but are valid for Pebble.
func TestSnapshotsRowsChanged(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(db *pebble.DB, key, value, next []byte) error
		want   string
	}{
		{"a row is missing", func(db *pebble.DB, key, _, _ []byte) error { return db.Delete(key, pebble.NoSync) }, "rows"},
		{"a row has the value of another", func(db *pebble.DB, key, value, _ []byte) error {
			value[9] ^= 1
			return db.Set(key, value, pebble.NoSync)
		}, "the checksum of a row"},
		{"a row has the key of another", func(db *pebble.DB, _, value,
			next []byte) error {
			return db.Set(next, value, pebble.NoSync)
		}, "the checksum of a row"},
		{"an additional row", func(db *pebble.DB, key, value, _ []byte) error {
			key = append(bytes.Clone(key[:rowKeyBytes-1]), key[rowKeyBytes-1]+1)
			value = bytes.Clone(value)
			SealRow(key, value)
			return db.Set(key, value, pebble.NoSync)
		}, "rows"},
		{"a row is empty", func(db *pebble.DB, key, _, _ []byte) error { return db.Set(key, nil, pebble.NoSync) },
			"a row of 0 bytes"},
		{"a key is longer", func(db *pebble.DB, key, value, _ []byte) error {
			return db.Set(append(bytes.Clone(key), 0), value, pebble.NoSync)
		}, "a key of 17"},
		{"all rows are missing", func(db *pebble.DB, _, _, _ []byte) error {
			from, to := generationBounds(1, 1)
			return db.Excise(context.Background(), pebble.KeyRange{Start: from, End: to})
		}, "0 rows"},
	} {
		s := openTest(t, vfs.NewMem(), "/snapshots")
		info := mustWrite(t, s, newState(1, 3000, 1), 1)
		err := s.withStore(forWriting, func(store *store) error {
			rows, err := store.db.NewIter(nil)
			if err != nil {
				return err
			}
			rows.First()
			rows.Next()
			key, value := bytes.Clone(rows.Key()), bytes.Clone(rows.Value())
			rows.Next()
			next := bytes.Clone(rows.Key())
			err = errors.Join(rows.Close(), tt.change(store.db, key, value, next))
			return errors.Join(err, store.db.Flush())
		})
		if err != nil {
			t.Fatal(err)
		}
		var corrupt *CorruptError
		err = s.Load(context.Background(), info, &fakeSink{}, 2, nil)
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(corrupt.File, "/snapshots/store") {
			t.Errorf("%s: Load() = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// No goroutine is left after an operation.
func TestSnapshotsLeaveNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	s := openTest(t, vfs.NewMem(), "/snapshots")
	info := mustWrite(t, s, newState(1, 2000, 1), 1)
	if err := s.Load(context.Background(), info, &fakeSink{}, 2, nil); err != nil {
		t.Fatal(err)
	}
	testwait.Retry(t, patience, func() error {
		if n := runtime.NumGoroutine(); n > before {
			stack := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines, %d before:\n%s", n, before, stack[:runtime.Stack(stack, true)])
		}
		return nil
	})
}

// For any consistent record, the key ranges of the shards do not overlap.
func FuzzInfo(f *testing.F) {
	f.Add([]byte(`{"generation":3,"keys":9,"rows":3,"bytes":30,"shards":[{"first":5,"rows":1,"bytes":10},{},{"first":7,"rows":2,"bytes":20}]}`))
	f.Fuzz(func(t *testing.T, record []byte) {
		var info Info
		if json.Unmarshal(record, &info) != nil || info.check(info.Generation) != nil {
			return
		}
		r := snapshotReader{info: info}
		var last []byte
		for shard := range info.Shards {
			if info.Shards[shard].Rows == 0 {
				continue
			}
			from, to := r.bounds(shard)
			if bytes.Compare(last, from) > 0 || bytes.Compare(from, to) > 0 {
				t.Errorf("%s: shard %d is from %x to %x, the previous one to %x", record, shard, from, to, last)
			}
			last = to
		}
	})
}
