package persist

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Checkpoint makes a copy of all snapshots in a directory that must not be there
// yet; OpenSnapshots and CheckSnapshots take it for one of theirs. Within a file
// system the tables are linked, and it takes milliseconds. After an error what is
// there is to be thrown away.
//
// It copies files rather than having Pebble do it: between two uses of the store
// none of its files changes, and Pebble would have to open it for writing.
func (s *Snapshots) Checkpoint(dest string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkpoint(dest); err != nil {
		return fmt.Errorf("copy snapshots from %s to %s: %w", s.dir, dest, err)
	}
	return nil
}

func (s *Snapshots) checkpoint(dest string) error {
	if _, err := s.fs.Stat(dest); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fs.ErrExist, err)
	}
	generations, err := s.generations()
	if err != nil {
		return err
	}
	from, to := s.fs.PathJoin(s.dir, storeName), s.fs.PathJoin(dest, storeName)
	if err := MakeDir(s.fs, to); err != nil {
		return err
	}
	names, err := s.fs.List(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if err := copyFile(s.fs, s.fs.PathJoin(from, name), s.fs.PathJoin(to, name)); err != nil {
			return err
		}
	}
	if err := syncDir(s.fs, to); err != nil {
		return err
	}
	// The records come last: what has no record is no snapshot.
	for _, generation := range generations {
		name := recordName(generation)
		if err := copyFile(s.fs, s.fs.PathJoin(s.dir, name), s.fs.PathJoin(dest, name)); err != nil {
			return err
		}
	}
	return syncDir(s.fs, dest)
}

// copyFile copies a file and syncs it, or links it if it is a table: those are
// synced and never change.
func copyFile(fsys vfs.FS, from, to string) error {
	if strings.HasSuffix(from, ".sst") {
		return vfs.LinkOrCopy(fsys, from, to)
	}
	return vfs.Copy(fsys, from, to)
}
