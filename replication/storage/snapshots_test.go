package storage

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"limitsrv/persist"
)

var members = raft.Configuration{Servers: []raft.Server{{ID: "a", Address: "a:1"},
	{ID: "b", Address: "b:1", Suffrage: raft.Nonvoter}}}

func noBound() error { return nil }

func openSnapshots(t *testing.T, fsys vfs.FS, dir string, room func() error) *snapshotStore {
	t.Helper()
	s, err := newSnapshotStore(fsys, dir, retained, room, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// saveText writes a snapshot of an index with a text.
func saveText(s raft.SnapshotStore, index uint64, text string) error {
	_, transport := raft.NewInmemTransport("a:1")
	sink, err := s.Create(1, index, 3, members, 2, transport)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(sink, text); err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}

// texts returns the snapshots in the order of List.
func texts(t *testing.T, s raft.SnapshotStore) (all []string) {
	t.Helper()
	listed, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range listed {
		meta, from, err := s.Open(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err := errors.Join(err, from.Close()); err != nil || meta.Size != int64(len(text)) {
			t.Fatalf("a snapshot of %d bytes has %d, %v", meta.Size, len(text), err)
		}
		all = append(all, fmt.Sprintf("%d/%d %s of %v at %d", meta.Term, meta.Index, text, meta.Configuration.Servers,
			meta.ConfigurationIndex))
	}
	return all
}

// Snapshots have the format of raft's FileSnapshotStore, which earlier versions used.
func TestSnapshotsAsRaft(t *testing.T) {
	dir := t.TempDir()
	theirs, err := raft.NewFileSnapshotStoreWithLogger(dir, retained, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	ours := openSnapshots(t, vfs.Default, filepath.Join(dir, SnapshotsName), noBound)
	for i, s := range []raft.SnapshotStore{theirs, ours, ours, theirs, ours} {
		if err := saveText(s, uint64(10+i), fmt.Sprint("text ", i)); err != nil {
			t.Fatal(err)
		}
		got, want := texts(t, ours), texts(t, theirs)
		if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != min(i+1, retained) {
			t.Errorf("after %d snapshots: %v, and raft's store has %v", i+1, got, want)
		}
	}
}

// failAt fails all writes from the write at on, and counts the open files.
type failAt struct {
	writes, at int
	err        error
}

func (f *failAt) String() string { return "fail" }

func (f *failAt) MaybeError(op errorfs.Op) error {
	switch op.Kind {
	case errorfs.OpRemove, errorfs.OpRemoveAll, errorfs.OpFileClose:
		return nil
	}
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	if f.writes++; f.writes > f.at {
		return f.err
	}
	return nil
}

// A snapshot that fails at any write, or is canceled, leaves nothing but the snapshot
// before.
func TestFailedSnapshotLeavesNothing(t *testing.T) {
	for _, failure := range []error{syscall.ENOSPC, syscall.EIO} {
		for at := 0; ; at++ {
			mem := vfs.NewMem()
			if err := saveText(openSnapshots(t, mem, "/s", noBound), 1, "first"); err != nil {
				t.Fatal(err)
			}
			s := openSnapshots(t, mem, "/s", noBound)
			s.fs = errorfs.Wrap(mem, &failAt{at: at, err: failure})
			err := saveText(s, 2, strings.Repeat("x", 2*snapshotBuffer))
			if err == nil {
				break
			}
			if !errors.Is(err, failure) {
				t.Fatalf("at write %d: %v, want %v", at, err, failure)
			}
			checkNames(t, mem, "/s", fmt.Sprintf("%v at write %d", failure, at))
		}
	}
	mem := vfs.NewMem()
	s := openSnapshots(t, mem, "/s", noBound)
	sink, err := s.Create(1, 1, 1, members, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.Cancel(); err != nil {
		t.Error(err)
	}
	checkNames(t, mem, "/s", "a cancel")
}

// checkNames checks that a directory of snapshots has complete snapshots only.
func checkNames(t *testing.T, fsys vfs.FS, dir, after string) {
	t.Helper()
	names, err := fsys.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, Unfinished) {
			t.Errorf("after %s there is still %s", after, name)
		}
	}
}

// A snapshot is not begun, or is given up, when the disk has no room left for the log.
func TestSnapshotKeepsRoom(t *testing.T) {
	mem := vfs.NewMem()
	left := 2
	room := func() error {
		if left--; left < 0 {
			return &persist.NoRoomError{Dir: "/s", Reserve: 1 << 20}
		}
		return nil
	}
	s := openSnapshots(t, mem, "/s", room)
	sink, err := s.Create(1, 1, 1, members, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for ; err == nil && written < 100<<20; written += 1 << 20 {
		_, err = sink.Write(make([]byte, 1<<20))
	}
	if !persist.IsFull(err) || written != 2*roomEvery {
		t.Errorf("after %d bytes: %v", written, err)
	}
	checkNames(t, mem, "/s", "a snapshot without room")
	if err := saveText(s, 2, "x"); !persist.IsFull(err) {
		t.Errorf("a snapshot without room begins: %v", err)
	}
	checkNames(t, mem, "/s", "a snapshot that was not begun")
}

// RemoveLeftovers removes all that a process that was killed leaves, of any node id, and
// nothing else.
func TestRemoveLeftovers(t *testing.T) {
	disk := vfs.NewMem()
	dir, err := persist.OpenDir(disk, "/data")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := (Membership{Node: NewNodeID()}).Write(dir); err != nil {
		t.Fatal(err)
	}
	kept := []string{"/data/MEMBER", "/data/IDENTITY", "/data/notes.tmp", "/data/backups/monday/IDENTITY",
		"/data/raft/n1/snapshots/1-2-3/meta.json"}
	left := []string{"/data/MEMBER.tmp", "/data/IDENTITY.tmp", "/data/backups/tuesday.tmp/IDENTITY",
		"/data/raft/n1/snapshots/1-3-4.tmp/state.bin", "/data/raft/n2/snapshots/1-1-1.tmp/meta.json"}
	for _, name := range append(kept[2:], left...) {
		if err := errors.Join(disk.MkdirAll(disk.PathDir(name), 0o700),
			persist.WriteSynced(disk, name, []byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	full := errorfs.Wrap(disk, &failAt{err: syscall.ENOSPC})
	if err := RemoveLeftovers(&persist.Dir{Path: dir.Path, FS: full}); err != nil {
		t.Error(err)
	}
	for _, name := range kept {
		if _, err := disk.Stat(name); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
	for _, name := range left {
		if _, err := disk.Stat(name); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
}
