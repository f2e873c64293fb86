package persist

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func metaOf(index uint64) Meta {
	return Meta{LogDir: "log-7", LogIndex: index, Now: 1e18, Seed: Seed{1, 2, 15: 9}, Taken: time.Unix(1e9, 0).UTC()}
}

func openTest(t *testing.T, fsys vfs.FS, dir string) *Snapshots {
	t.Helper()
	s, err := OpenSnapshots(fsys, dir, SnapshotOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustWrite(t *testing.T, s *Snapshots, state *fakeState, index uint64) Info {
	t.Helper()
	info, err := s.Write(context.Background(), state.source(), metaOf(index), nil)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// holds returns an error unless the newest snapshot is a snapshot of state.
func holds(s *Snapshots, state *fakeState, index uint64) error {
	info, ok, err := s.Latest()
	if err != nil || !ok {
		return errors.Join(errors.New("no snapshot"), err)
	}
	sink := &fakeSink{}
	if err := s.Load(context.Background(), info, sink, 2, nil); err != nil {
		return err
	}
	switch {
	case !sink.equals(state.loaded()):
		return errors.New("other blocks")
	case info.Meta != metaOf(index):
		return errors.New("other meta")
	case info.Keys != state.keys || info.Bytes != state.bytes():
		return errors.New("other counts")
	}
	return nil
}

func TestSnapshotsRoundTrip(t *testing.T) {
	for _, tt := range []struct {
		name       string
		keys, bits int
	}{
		{"is of many shards", 20000, 4},
		{"is of one shard", 5000, 0},
		{"has empty shards", 3, 4},
		{"is of a single key", 1, 4},
		{"is empty", 0, 4},
	} {
		for name, fsys := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
			dir := "/data/snapshots"
			if name == "disk" {
				dir = t.TempDir() + "/a/b"
			}
			state := newState(7, tt.keys, tt.bits)
			s, err := OpenSnapshots(fsys, dir, SnapshotOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, ok, err := s.Latest(); ok || err != nil {
				t.Errorf("%s, %s: Latest() = %v, %v in a new directory", tt.name, name, ok, err)
			}
			written := mustWrite(t, s, state, 5)
			if err := holds(s, state, 5); err != nil {
				t.Errorf("%s, %s: %v", tt.name, name, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openTest(t, fsys, dir)
			if err := holds(s, state, 5); err != nil {
				t.Errorf("%s, %s, opened again: %v", tt.name, name, err)
			}
			if written.Generation != 1 {
				t.Errorf("%s, %s: generation %d", tt.name, name, written.Generation)
			}
		}
	}
}

func TestSnapshotsReplace(t *testing.T) {
	dir := t.TempDir()
	s := openTest(t, vfs.Default, dir)
	var first int64
	for i := range uint64(5) {
		state := newState(i, 30000, 3)
		if info := mustWrite(t, s, state, i); info.Generation != i+1 {
			t.Errorf("generation %d, want %d", info.Generation, i+1)
		}
		if err := holds(s, state, i); err != nil {
			t.Fatal(err)
		}
		size, err := s.DiskBytes()
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes on disk, of %d", size, state.bytes())
		if first == 0 {
			first = size
		}
		if size > first*11/10 {
			t.Errorf("after %d writes %d bytes are on disk, after the first %d", i+1, size, first)
		}
		if all, err := s.All(); len(all) != 1 || err != nil {
			t.Errorf("All() = %d snapshots, %v", len(all), err)
		}
	}
}

// anyBlock accepts each block.
func anyBlock([]byte) error { return nil }
