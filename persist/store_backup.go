package persist

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"limitsrv/engine"
)

const (
	snapshotsDir = "snapshots"
	backupsDir   = "backups"
)

// backupName matches valid names of backups.
var backupName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,63}$`)

// ErrBackupName describes valid names of backups.
var ErrBackupName = errors.New("a backup's name is 1 to 64 letters, digits, '_' or '-', and begins with a letter or " +
	"digit")

// Backup writes the current state as a new data directory, backups/name below this
// directory. Another node can start on a copy of it. done is called once, from another
// goroutine, with its path. Otherwise it is like Save.
func (s *Store) Backup(name string, done func(path string, err error)) error {
	path, err := BackupPath(s.o.FS, s.o.Dir, name)
	if err != nil {
		return err
	}
	return s.begin(func(info Info) error {
		if err := s.copyTo(path, info); err != nil {
			return fmt.Errorf("back up to %s: %w", path, err)
		}
		return nil
	}, func(_ Info, err error) { done(path, err) })
}

// copyTo writes a backup of the newest snapshot to path, under a temporary name until it
// is complete.
func (s *Store) copyTo(path string, info Info) error {
	of := Origin{ID: s.dir.ID, Taken: info.Taken.UTC(), Index: info.LogIndex, Now: info.Now}
	return writeBackup(s.o.FS, path, path+suffixTemporary, s.dir.Seed, of, s.snapshots.Checkpoint)
}

// A backup contains a mark that says that it has no log yet, so the log is not missing.
// The mark is removed when a server starts on it.
const (
	backupMark       = "BACKUP"
	backupMarkWhat   = "backup"
	backupMarkFormat = 1
)

// An Origin is the content of the mark: it describes the state of a backup. If Repair set
// a log aside, only ID and Taken are set.
type Origin struct {
	ID      string         `json:"id"`                // of the node
	Taken   time.Time      `json:"taken"`             // by the node's clock
	Cluster string         `json:"cluster,omitempty"` // its id; empty: a single node
	Index   uint64         `json:"index,omitempty"`   // of the last log entry included in the state
	Term    uint64         `json:"term,omitempty"`    // of that entry; 0: unknown
	Now     engine.Instant `json:"now,omitempty"`     // time of the state
}

// BackupPath returns the path of a backup below the data directory of a node. It returns
// an error if the name is invalid or the backup exists.
func BackupPath(fsys vfs.FS, dir, name string) (string, error) {
	if !backupName.MatchString(name) {
		return "", ErrBackupName
	}
	path := fsys.PathJoin(dir, backupsDir, name)
	if _, err := fsys.Stat(path); err == nil {
		return "", fmt.Errorf("backup %s already exists", path)
	}
	return path, nil
}

// WriteBackup writes the frozen state of an engine, with the seed of its hashes, as a backup at
// path. It writes to draft, which it removes first, and renames draft to path once everything is on
// disk. It leaves reserve bytes of the disk free. After an error it removes draft. Requires: path
// does not exist or is an empty directory.
func WriteBackup(ctx context.Context, fsys vfs.FS, path, draft string, from BlockSource, seed Seed, of Origin,
	reserve int64) error {
	return writeBackup(fsys, path, draft, seed, of, func(dir string) error {
		s, err := OpenSnapshots(fsys, dir, SnapshotOptions{Reserve: reserve})
		if err != nil {
			return err
		}
		_, err = s.Write(ctx, from, Meta{LogDir: logName(1), LogIndex: of.Index, Now: of.Now, Seed: seed, Taken: of.Taken},
			nil)
		return errors.Join(err, s.Close())
	})
}

// writeBackup is WriteBackup with a function that creates the directory of snapshots.
func writeBackup(fsys vfs.FS, path, draft string, seed Seed, of Origin, snapshots func(dir string) error) error {
	if err := fsys.RemoveAll(draft); err != nil {
		return err
	}
	err := MakeDir(fsys, draft)
	if err == nil {
		err = snapshots(fsys.PathJoin(draft, snapshotsDir))
	}
	if err == nil {
		err = writeMark(fsys, draft, of)
	}
	if err == nil {
		err = writeIdentity(fsys, draft, newIdentity(seed))
	}
	if err == nil {
		err = Publish(fsys, draft, path)
	}
	if err != nil {
		return errors.Join(err, fsys.RemoveAll(draft))
	}
	return nil
}

// Publish moves a complete directory from draft to path. After a crash it is at one of
// them, complete. Requires: its files are synced; path does not exist or is an empty
// directory.
func Publish(fsys vfs.FS, draft, path string) error {
	if err := syncDirs(fsys, draft); err != nil {
		return err
	}
	if err := fsys.Rename(draft, path); err != nil {
		return err
	}
	return syncDir(fsys, fsys.PathDir(path))
}

// syncDirs syncs a directory and all directories below it.
func syncDirs(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		below := fsys.PathJoin(dir, name)
		if info, err := fsys.Stat(below); err != nil {
			return err
		} else if !info.IsDir() {
			continue
		}
		if err := syncDirs(fsys, below); err != nil {
			return err
		}
	}
	return syncDir(fsys, dir)
}

// markBackup marks a directory whose log was set aside.
func markBackup(fsys vfs.FS, dir, id string) error {
	return writeMark(fsys, dir, Origin{ID: id, Taken: time.Now().UTC().Truncate(time.Second)})
}

func writeMark(fsys vfs.FS, dir string, of Origin) error {
	return WriteSealed(fsys, dir, backupMark, backupMarkWhat, backupMarkFormat, of)
}

func readMark(fsys vfs.FS, dir string) (of Origin, err error) {
	err = ReadSealed(fsys, fsys.PathJoin(dir, backupMark), backupMarkWhat, backupMarkFormat, &of)
	return of, err
}

func isBackup(fsys vfs.FS, dir string) bool {
	_, err := readMark(fsys, dir)
	return err == nil
}

// endBackup removes the mark, because the directory has a log from now on.
func endBackup(fsys vfs.FS, dir string) error {
	if !isBackup(fsys, dir) {
		return nil
	}
	if err := fsys.Remove(fsys.PathJoin(dir, backupMark)); err != nil {
		return err
	}
	return syncDir(fsys, dir)
}
