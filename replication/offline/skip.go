package offline

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"

	"limitsrv/persist"
	"limitsrv/replication/fsm"
	"limitsrv/replication/storage"
)

// SkipEntry makes the node or single server with the data directory o.Dir skip an entry of its log,
// if confirm returns true for its description. It returns the name of the file that keeps the
// entry; empty: confirm returned false. Requires: no process uses the directory.
//
// In a cluster the operator must skip the entry on every node while all nodes are stopped. A node
// that has applied the entry, or has it in a snapshot, detects that its state differs and takes the
// leader's state.
//
// Error: persist.ErrNothingToSkip if the log does not have the entry, or skips it already.
func SkipEntry(o Options, index uint64, confirm func(*persist.Found) bool) (kept string, err error) {
	o.setDefaults()
	described := func(f *persist.Found) bool {
		if f.What == "" {
			f.What = describe(&o, f.Entry.Data)
		}
		return confirm(f)
	}
	is, err := persist.IsMember(o.FS, o.Dir)
	switch {
	case err != nil:
		return "", err
	case !is:
		return persist.SkipEntry(o.FS, o.Dir, index, described)
	}
	dir, err := persist.OpenDir(o.FS, o.Dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	m, err := storage.ReadMembership(dir)
	if err != nil {
		return "", storage.WithHint(err, o.Dir)
	}
	return skipMember(dir, storage.Path(dir, &m), index, described)
}

// describe returns a description of an entry. It does not use the state before the entry.
func describe(o *Options, data []byte) string {
	if fsm.IsControl(data) {
		return fmt.Sprintf("an entry about the cluster of %d bytes", len(data))
	}
	return persist.Describe(data, o.Commands, nil)
}

// skipMember is SkipEntry for a member of a cluster. path is the directory of its files.
func skipMember(dir *persist.Dir, path string, index uint64,
	confirm func(*persist.Found) bool) (kept string, err error) {
	after, err := newestIndex(path)
	if err != nil {
		return "", fmt.Errorf("read the snapshots in %s: %w", path, err)
	}
	s := persist.Skip{FS: dir.FS, Dir: dir.Path, Log: dir.FS.PathJoin(path, storage.LogName), State: path, After: after,
		Index: index}
	found, err := s.Find()
	if err != nil {
		return "", err
	}
	if found.Entry.Type != raft.LogCommand {
		return "", fmt.Errorf("entry %d can't be skipped: it is %v of the library of raft, and has no decisions", index,
			found.Entry.Type)
	}
	instead, err := fsm.SkippedEntry()
	if err != nil || !confirm(&found) {
		return "", err
	}
	return s.Perform(&found, instead)
}

// newestIndex returns the index of the last entry in the newest snapshot of a member; 0: no
// snapshot. path is the directory of its files.
func newestIndex(path string) (uint64, error) {
	store, err := storage.AllSnapshots(path)
	if err != nil {
		return 0, err
	}
	all, err := store.List()
	if err != nil || len(all) == 0 {
		return 0, err
	}
	return all[0].Index, nil
}
