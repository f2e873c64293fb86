package persist

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	snapshotsDir = "snapshots"
	backupsDir   = "backups"
)

// backupName is what a backup may be called.
var backupName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$`)

// ErrBackupName says what a backup may be called.
var ErrBackupName = errors.New("a backup's name is 1 to 64 letters, digits, '_' or '-', and begins with a letter or digit")

// Backup makes a data directory of its own of this moment, backups/name below
// this one, from which another node can start once it is copied. done is called
// once, from another goroutine, with its path. Otherwise it is like Save.
func (s *Store) Backup(name string, done func(path string, err error)) error {
	if !backupName.MatchString(name) {
		return ErrBackupName
	}
	path := s.path(backupsDir, name)
	if _, err := s.o.FS.Stat(path); err == nil {
		return fmt.Errorf("there is a backup %s already", path)
	}
	return s.begin(func(Info) error {
		if err := s.copyTo(path); err != nil {
			return fmt.Errorf("back up to %s: %w", path, err)
		}
		return nil
	}, func(_ Info, err error) { done(path, err) })
}

// copyTo puts the newest snapshot into a directory, under another name until all
// of it is there.
func (s *Store) copyTo(path string) error {
	fs, draft := s.o.FS, path+".tmp"
	if err := fs.RemoveAll(draft); err != nil {
		return err
	}
	if err := fs.MkdirAll(draft, 0o700); err != nil {
		return err
	}
	if err := s.snapshots.Checkpoint(fs.PathJoin(draft, snapshotsDir)); err != nil {
		return err
	}
	if err := markBackup(fs, draft, s.dir.ID); err != nil {
		return err
	}
	if err := writeIdentity(fs, draft, newIdentity(s.dir.Seed)); err != nil {
		return err
	}
	if err := fs.Rename(draft, path); err != nil {
		return err
	}
	return syncDir(fs, s.path(backupsDir))
}

// A backup has a mark in it, which says that its log is not missing: there is none
// yet. The mark is gone once a server has started on it.
const (
	backupMark       = "BACKUP"
	backupMarkWhat   = "backup"
	backupMarkFormat = 1
)

// A backupOf is what the mark says, for people.
type backupOf struct {
	ID    string    `json:"id"` // of the node
	Taken time.Time `json:"taken"`
}

func markBackup(fsys vfs.FS, dir, id string) error {
	now := time.Now().UTC().Truncate(time.Second)
	return WriteSealed(fsys, dir, backupMark, backupMarkWhat, backupMarkFormat, backupOf{ID: id, Taken: now})
}

func isBackup(fsys vfs.FS, dir string) bool {
	var of backupOf
	return ReadSealed(fsys, fsys.PathJoin(dir, backupMark), backupMarkWhat, backupMarkFormat, &of) == nil
}

// endBackup says that a backup has a log from now on.
func endBackup(fsys vfs.FS, dir string) error {
	if !isBackup(fsys, dir) {
		return nil
	}
	if err := fsys.Remove(fsys.PathJoin(dir, backupMark)); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}
