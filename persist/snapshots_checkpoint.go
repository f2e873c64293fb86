package persist

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Checkpoint copies all snapshots to the directory dest, which OpenSnapshots and
// CheckSnapshots can open. Within a file system tables are hard links, and it takes
// milliseconds. After an error the caller must delete dest. Requires: dest does not exist.
//
// It copies files itself, because no file changes while the store is closed, and Pebble
// would have to open the store for writing.
func (s *Snapshots) Checkpoint(dest string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkpoint(dest); err != nil {
		return fmt.Errorf("copy snapshots from %s to %s: %w", s.dir, dest, err)
	}
	return nil
}

func (s *Snapshots) checkpoint(dest string) error {
	if _, err := s.fs.Stat(dest); !isMissing(err) {
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
	if err != nil && !isMissing(err) {
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
	// The records come last: rows without a record are ignored.
	for _, generation := range generations {
		name := recordName(generation)
		if err := copyFile(s.fs, s.fs.PathJoin(s.dir, name), s.fs.PathJoin(dest, name)); err != nil {
			return err
		}
	}
	return syncDir(s.fs, dest)
}

// copyFile copies and syncs a file. A table is linked, because it is synced and never
// changes.
func copyFile(fsys vfs.FS, from, to string) error {
	if strings.HasSuffix(from, ".sst") {
		return vfs.LinkOrCopy(fsys, from, to)
	}
	return vfs.Copy(fsys, from, to)
}
