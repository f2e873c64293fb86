package persist

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// filesBelow returns the contents of all files below a directory, except locks.
func filesBelow(t *testing.T, fsys vfs.FS, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	names, err := fsys.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := fsys.PathJoin(dir, name)
		info, err := fsys.Stat(path)
		switch {
		case err != nil:
			t.Fatal(err)
		case name == lockName:
		case info.IsDir():
			for below, data := range filesBelow(t, fsys, path) {
				all[below] = data
			}
		default:
			data, err := readSmall(fsys, path, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(data)
		}
	}
	return all
}

// ReadState reads the same state as a start, from a directory with a snapshot, a log,
// both or neither, and from a backup; and changes nothing.
func TestReadState(t *testing.T) {
	o := testOptions(t, vfs.NewMem(), EverySecond)
	rng, counts := rand.New(rand.NewPCG(5, 5)), newCounters()
	if _, err := ReadState(context.Background(), o.FS, testDir, nil); err == nil {
		t.Error("a missing directory is read")
	}
	for round, save := range []bool{false, true, false} {
		s := start(t, o)
		if _, err := ReadState(context.Background(), o.FS, testDir, nil); err == nil ||
			!strings.Contains(err.Error(), "in use") {
			t.Errorf("round %d: a directory that a server uses is read: %v", round, err)
		}
		takeSome(t, s, counts, rng, 50)
		name := fmt.Sprint("b", round)
		made := make(chan error, 1)
		if err := s.Backup(name, func(_ string, err error) { made <- err }); err != nil {
			t.Fatal(err)
		}
		if err := <-made; err != nil {
			t.Fatal(err)
		}
		index, digest := s.log.Load().Last(), s.engine.Digest(s.engine.Now())
		backup := o.FS.PathJoin(testDir, backupsDir, name)
		wantState(t, o.FS, backup, State{Backup: true, Origin: Origin{ID: s.dir.ID, Index: index}}, digest)
		takeSome(t, s, counts, rng, 50)
		end(t, s, save)
		wantState(t, o.FS, testDir, State{Origin: Origin{ID: s.dir.ID, Index: s.log.Load().Last()}},
			s.engine.Digest(s.engine.Now()))
	}
	damageTable(t, o.FS, o.FS.PathJoin(testDir, snapshotsDir, storeName))
	if _, err := ReadState(context.Background(), o.FS, testDir, nil); !errors.Is(err, ErrDamaged) ||
		!strings.Contains(err.Error(), "limitsrv check "+testDir) {
		t.Errorf("a damaged directory is read: %v", err)
	}
}

// wantState reads a directory.
func wantState(t *testing.T, fsys vfs.FS, dir string, want State, digest uint64) {
	t.Helper()
	before := filesBelow(t, fsys, dir)
	got, err := ReadState(context.Background(), fsys, dir, nil)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if d := got.Engine.Digest(got.Now); got.Backup != want.Backup || got.ID != want.ID || got.Index != want.Index ||
		d != digest || got.Taken.IsZero() && want.Backup {
		t.Errorf("%s has %+v with %x, want %+v with %x", dir, got, d, want, digest)
	}
	after := filesBelow(t, fsys, dir)
	for name, data := range before {
		if after[name] != data {
			t.Errorf("%s was changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
}

// WriteBackup makes a directory that a server starts on, at any index and time.
func TestWriteBackup(t *testing.T) {
	o := testOptions(t, vfs.NewMem(), EverySecond)
	rng, counts := rand.New(rand.NewPCG(6, 6)), newCounters()
	s := start(t, o)
	takeSome(t, s, counts, rng, 100)
	view := s.engine.Freeze()
	of := Origin{ID: "a node", Cluster: "a cluster", Index: 1 << 40, Term: 7, Now: view.Now() + 1e15}
	const path = "/made/here"
	if err := o.FS.MkdirAll(path+".tmp/left/over", 0o700); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := WriteBackup(canceled, o.FS, path, path+".tmp", view, s.dir.Seed, of, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled WriteBackup: %v", err)
	}
	if names, _ := o.FS.List("/made"); len(names) > 0 {
		t.Errorf("an unfinished backup leaves %q", names)
	}
	view.Close()
	view = s.engine.Freeze()
	if err := WriteBackup(context.Background(), o.FS, path, path+".tmp", view, s.dir.Seed, of, 0); err != nil {
		t.Fatal(err)
	}
	view.Close()
	end(t, s, false)
	state, err := ReadState(context.Background(), o.FS, path, nil)
	if err != nil || !state.Backup || state.Cluster != of.Cluster || state.Term != of.Term || state.Index != of.Index ||
		state.Now != of.Now || state.Seed != s.dir.Seed {
		t.Fatalf("the state is %+v, %v, want %+v", state, err, of)
	}
	o.Dir = path
	s = start(t, o)
	if now := s.engine.Now(); now < of.Now {
		t.Errorf("the time is %d, want %d or later", now, of.Now)
	}
	checkCounts(t, s, counts.copy(), true)
	takeSome(t, s, counts, rng, 10)
	if first := s.log.Load().First(); first != of.Index+1 {
		t.Errorf("its log begins with entry %d, want %d", first, of.Index+1)
	}
	end(t, s, false)
	s = start(t, o)
	checkCounts(t, s, counts.copy(), true)
	end(t, s, false)
	if state, err := ReadState(context.Background(), o.FS, path, nil); err != nil || state.Backup ||
		state.Index <= of.Index {
		t.Errorf("after a start the state is %+v, %v", state, err)
	}
}

// ReadState of a log with a torn end, after the machine went down, reads the same state
// as a start and reports the torn end.
func TestReadStateOfATornLog(t *testing.T) {
	disk := vfs.NewCrashableMem()
	o := testOptions(t, disk, Never)
	rng, counts := rand.New(rand.NewPCG(7, 7)), newCounters()
	s := start(t, o)
	takeSome(t, s, counts, rng, 50)
	if err := s.log.Load().Sync(); err != nil {
		t.Fatal(err)
	}
	kept := s.log.Load().Last()
	takeSome(t, s, counts, rng, 50)
	dropped := false
	for range 50 { // a crash may tear nothing, or keep everything
		crashed := disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rng})
		if err := crashed.Remove(crashed.PathJoin(testDir, bootName)); err != nil {
			t.Fatal(err)
		}
		checked := Check(crashed, testDir, nil, func(string) {})
		state, err := ReadState(context.Background(), crashed, testDir, nil)
		if err != nil || state.Drops != errors.Is(checked, ErrDrops) || state.Index < kept {
			t.Fatalf("read up to entry %d, %v, drops: %v; %d were synced, check returns %v", state.Index, err, state.Drops, kept,
				checked)
		}
		dropped = dropped || state.Drops
	}
	if !dropped {
		t.Error("no log was torn")
	}
	end(t, s, false)
}
